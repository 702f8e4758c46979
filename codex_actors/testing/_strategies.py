"""Hypothesis strategies for the values of `codex_actors.protocol`."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..protocol import (
    ContentPart,
    InputImage,
    InputText,
    Item,
    Message,
    OtherContent,
    OtherItem,
    OutputText,
    Reasoning,
    ToolCall,
    ToolKind,
    ToolOutput,
)


def texts(*, min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[str]:
    """Text that UTF-8 can hold."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=max_size)


def names() -> st.SearchStrategy[str]:
    """Short words, as keys and identifiers are."""
    return st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)


def json_values() -> st.SearchStrategy[Any]:
    """Any plain value that JSON gives back as it was."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts()
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=6,
    )


def unknown_fields() -> st.SearchStrategy[dict[str, Any]]:
    """Fields that no version will ever know: their names begin with ``zz_``."""
    return st.dictionaries(names().map("zz_".__add__), json_values(), max_size=2)


def unknown_tags() -> st.SearchStrategy[str]:
    """Tags that no version will ever know."""
    return names().map("zz_".__add__)


def optional(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value or None."""
    return st.none() | inner


def content_parts() -> st.SearchStrategy[ContentPart]:
    """Parts of messages and tool outputs."""
    return st.one_of(
        st.builds(InputText, texts()),
        st.builds(OutputText, texts(), unknown_fields()),
        st.builds(InputImage, texts(), optional(st.sampled_from(["low", "high"]))),
        st.builds(OtherContent, unknown_tags(), unknown_fields()),
    )


def _contents() -> st.SearchStrategy[tuple[ContentPart, ...]]:
    return st.lists(content_parts(), max_size=3).map(tuple)


def _text_tuples() -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(texts(), max_size=2).map(tuple)


def call_ids() -> st.SearchStrategy[str]:
    """Call ids, few enough that they meet."""
    return st.sampled_from(["c1", "c2", "c3", "c4"])


def tool_kinds() -> st.SearchStrategy[ToolKind]:
    """Both kinds of tool call."""
    kinds: list[ToolKind] = ["function", "custom"]
    return st.sampled_from(kinds)


def messages() -> st.SearchStrategy[Message]:
    """Messages of every role."""
    return st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "developer"]),
        content=_contents(),
        phase=optional(st.sampled_from(["commentary", "final_answer"])),
        id=optional(names()),
        extra=unknown_fields(),
    )


def reasonings() -> st.SearchStrategy[Reasoning]:
    """Thoughts."""
    return st.builds(
        Reasoning,
        summary=_text_tuples(),
        content=_text_tuples(),
        encrypted_content=optional(texts()),
        id=optional(names()),
        extra=unknown_fields(),
    )


def tool_calls() -> st.SearchStrategy[ToolCall]:
    """Calls of both kinds."""
    return st.builds(
        ToolCall,
        call_id=call_ids(),
        name=names(),
        arguments=texts(),
        kind=tool_kinds(),
        namespace=optional(names()),
        id=optional(names()),
        extra=unknown_fields(),
    )


def tool_outputs() -> st.SearchStrategy[ToolOutput]:
    """Outputs of both kinds, all of them ``ok``, since failure has no spelling."""
    return st.builds(
        ToolOutput,
        call_id=call_ids(),
        output=texts() | _contents(),
        kind=tool_kinds(),
        id=optional(names()),
        extra=unknown_fields(),
    )


def other_items() -> st.SearchStrategy[OtherItem]:
    """Items of kinds that no version knows."""
    return st.builds(OtherItem, unknown_tags(), unknown_fields())


def items() -> st.SearchStrategy[Item]:
    """Anything that a history holds."""
    return st.one_of(messages(), reasonings(), tool_calls(), tool_outputs(), other_items())
