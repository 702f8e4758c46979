"""Hypothesis strategies for the values of `codex_actors.protocol`.

The great unions are composites over cached strategies: hypothesis then prints them by name.
"""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any

import attrs
from hypothesis import strategies as st

from .. import protocol as p
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
from ._permission_strategies import permissions
from ._profile_strategies import profiled_policies


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
    some = st.dictionaries(names().map("zz_".__add__), json_values(), min_size=1, max_size=2)
    return st.builds(dict) | some


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


def callnames() -> st.SearchStrategy[str]:
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
    """Thoughts, none of them raw, since raw ones have no spelling."""
    return st.builds(
        Reasoning,
        summary=_text_tuples(),
        encrypted_content=optional(texts()),
        id=optional(names()),
        extra=unknown_fields(),
    )


def tool_calls() -> st.SearchStrategy[ToolCall]:
    """Calls of both kinds."""
    return st.builds(
        ToolCall,
        call_id=callnames(),
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
        call_id=callnames(),
        output=texts() | _contents(),
        kind=tool_kinds(),
        id=optional(names()),
        extra=unknown_fields(),
    )


def other_items() -> st.SearchStrategy[OtherItem]:
    """Items of kinds that no version knows."""
    return st.builds(OtherItem, unknown_tags(), unknown_fields())


@st.composite
def items(draw: st.DrawFn) -> Item:
    """Anything that a history holds."""
    return draw(_items())


@cache
def _items() -> st.SearchStrategy[Item]:
    return st.one_of(messages(), reasonings(), tool_calls(), tool_outputs(), other_items())


def _counts() -> st.SearchStrategy[int]:
    return st.integers(0, 2**40)


def _seconds() -> st.SearchStrategy[float]:
    """Durations that nanoseconds can tell apart."""
    return st.integers(0, 10**9).map(lambda milliseconds: milliseconds / 1000)


def approval_policies() -> st.SearchStrategy[p.ApprovalPolicy]:
    """Every approval policy."""
    words: list[p.ApprovalPolicy] = ["untrusted", "on-request", "on-failure", "never"]
    return st.sampled_from(words) | _built(p.Granular)


def sandbox_policies() -> st.SearchStrategy[p.SandboxPolicy]:
    """Every sandbox policy."""
    older = map(_built, (p.ReadOnly, p.ExternalSandbox, p.WorkspaceWrite))
    return st.one_of(st.just(p.DangerFullAccess()), *older, profiled_policies())


def user_inputs() -> st.SearchStrategy[p.UserInput]:
    """Everything that a user may put in."""
    return st.one_of(
        st.builds(p.TextInput, texts()),
        st.builds(p.ImageInput, texts(), optional(names())),
        st.builds(p.LocalImageInput, texts(), optional(names())),
        st.builds(p.OtherInput, unknown_tags(), unknown_fields()),
    )


def _inputs() -> st.SearchStrategy[tuple[p.UserInput, ...]]:
    return st.lists(user_inputs(), max_size=2).map(tuple)


def file_changes() -> st.SearchStrategy[p.FileChange]:
    """Every change of a file."""
    return st.one_of(
        st.builds(p.AddFile, texts()),
        st.builds(p.DeleteFile, texts()),
        st.builds(p.UpdateFile, texts(), optional(names())),
    )


def _built(cls: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects of an attrs class; fields that nobody chose get a strategy by their type."""
    hints = typing.get_type_hints(cls)
    chosen = {
        field.name: fields[field.name] if field.name in fields else _of(hints[field.name])
        for field in attrs.fields(cls)
        if field.init
    }
    return st.builds(cls, **chosen)


def _of(hint: Any) -> st.SearchStrategy[Any]:
    known = _by_type()
    if hint in known:
        return known[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(_of(arguments[0]), max_size=2).map(tuple)
    if isinstance(hint, typing.NewType):
        return _of(hint.__supertype__)
    if origin is dict:
        return st.dictionaries(*map(_of, arguments), max_size=2)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    return _built(hint)


@cache
def _by_type() -> dict[Any, st.SearchStrategy[Any]]:
    return {
        str: texts(),
        int: _counts(),
        float: _seconds(),
        bool: st.booleans(),
        bytes: st.binary(max_size=8),
        type(None): st.none(),
        Any: json_values(),
        p.Fields: unknown_fields(),
        p.ApprovalPolicy: st.deferred(approval_policies),
        p.SandboxPolicy: st.deferred(sandbox_policies),
        dict[str, p.FileChange]: st.dictionaries(texts(), file_changes(), max_size=2),
        p.ExtraPermissions: permissions(),
        p.Item: items(),
        p.TurnItem: turn_items(),
        p.ErrorInfo: error_infos(),
        p.Profiled: profiled_policies(),
        p.AgentPath: agent_paths(),
        tuple[p.UserInput, ...]: _inputs(),
    }


def agent_paths() -> st.SearchStrategy[p.AgentPath]:
    """Places in a small tree."""
    return st.lists(st.sampled_from(["a", "b"]), max_size=3).map(
        lambda parts: p.AgentPath("/".join(["/root", *parts]))
    )


def error_infos() -> st.SearchStrategy[p.ErrorInfo]:
    """Kinds of errors, those that carry a status among them."""
    plain = st.builds(p.ErrorInfo, kind=st.sampled_from(["other", "bad_request"]))
    status = st.builds(
        p.ErrorInfo,
        kind=st.just("http_connection_failed"),
        http_status_code=optional(st.integers(100, 599)),
    )
    return plain | status


def _members(union: Any, *others: type[Any]) -> list[type[Any]]:
    return [cls for cls in typing.get_args(union) if cls not in others]


@st.composite
def turn_items(draw: st.DrawFn) -> p.TurnItem:
    """Every visible piece of a turn."""
    return draw(_turn_items())


@cache
def _turn_items() -> st.SearchStrategy[p.TurnItem]:
    known = [_built(cls) for cls in _members(p.TurnItem, p.OtherTurnItem)]
    return st.one_of(known) | st.builds(p.OtherTurnItem, unknown_tags(), unknown_fields())


@st.composite
def events(draw: st.DrawFn) -> p.EventMsg:
    """Every event."""
    return draw(_events())


@cache
def _events() -> st.SearchStrategy[p.EventMsg]:
    known = [_built(cls) for cls in _members(p.EventMsg, p.UnknownEvent)]
    return st.one_of(known) | st.builds(p.UnknownEvent, unknown_tags(), unknown_fields())


@st.composite
def ops(draw: st.DrawFn) -> p.Op:
    """Every operation."""
    return draw(_ops())


@cache
def _ops() -> st.SearchStrategy[p.Op]:
    injected = st.builds(p.InjectItems, st.lists(items(), max_size=2).map(tuple))
    known = [_built(cls) for cls in _members(p.Op, p.UnknownOp, p.InjectItems)]
    unknown = st.builds(p.UnknownOp, unknown_tags(), unknown_fields())
    return st.one_of(known) | injected | unknown


def submissions() -> st.SearchStrategy[p.Submission]:
    """Every operation on its way."""
    return st.builds(p.Submission, names(), ops())


def statuses() -> st.SearchStrategy[p.AgentStatus]:
    """Every status."""
    words: list[p.AgentStatus] = ["pending_init", "running", "interrupted", "shutdown"]
    built = st.builds(p.Completed, optional(texts())) | st.builds(p.Errored, texts())
    return st.sampled_from(words) | built


def outcomes() -> st.SearchStrategy[p.TaskOutcome]:
    """Every way a task may end."""
    return st.one_of([_built(cls) for cls in _members(p.TaskOutcome)])


@st.composite
def task_records(draw: st.DrawFn) -> p.TaskRecord:
    """Tasks, settled or not."""
    return draw(_task_records())


@cache
def _task_records() -> st.SearchStrategy[p.TaskRecord]:
    return _built(p.TaskRecord, outcome=optional(outcomes()))


@st.composite
def session_metas(draw: st.DrawFn) -> p.SessionMeta:
    """First lines of rollouts."""
    return draw(_session_metas())


@cache
def _session_metas() -> st.SearchStrategy[p.SessionMeta]:
    return _built(p.SessionMeta, source=st.just("exec") | unknown_fields())


@st.composite
def rollout_payloads(draw: st.DrawFn) -> p.RolloutPayload:
    """Every kind of line."""
    return draw(_rollout_payloads())


@cache
def _rollout_payloads() -> st.SearchStrategy[p.RolloutPayload]:
    return st.one_of(
        session_metas(),
        _built(p.TurnContext),
        st.builds(p.Recorded, items()),
        st.builds(p.EventLine, events()),
        _built(
            p.Compacted,
            replacement_history=optional(st.lists(items(), max_size=2).map(tuple)),
        ),
        st.builds(p.UnknownLine, unknown_tags(), json_values()),
    )


def rollout_lines() -> st.SearchStrategy[p.RolloutLine]:
    """Lines of rollouts, with or without a number."""
    return st.builds(
        p.RolloutLine,
        timestamp=st.just("2026-01-02T03:04:05.678Z"),
        payload=rollout_payloads(),
        ordinal=optional(_counts()),
        extra=unknown_fields(),
    )
