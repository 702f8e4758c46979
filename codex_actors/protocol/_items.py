"""What a thread's history is made of, and what it is sent to the model as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

Fields: TypeAlias = Mapping[str, Any]
"""Decoded JSON that this version has no name for; kept and written back unchanged."""


@attrs.frozen
class InputText:
    """Text that somebody else than the model wrote."""

    text: str


@attrs.frozen
class OutputText:
    """Text that the model wrote."""

    text: str
    extra: Fields = attrs.field(factory=dict)


@attrs.frozen
class InputImage:
    """A picture for the model, as a URL (usually ``data:``)."""

    image_url: str
    detail: str | None = None


@attrs.frozen
class OtherContent:
    """A content part of a kind that this version does not know."""

    type: str
    fields: Fields


ContentPart: TypeAlias = InputText | OutputText | InputImage | OtherContent


@attrs.frozen(kw_only=True)
class Message:
    """Something said, by whoever has the ``role``."""

    role: str
    """``user``, ``assistant``, or ``developer``."""
    content: tuple[ContentPart, ...]
    phase: str | None = None
    """``commentary`` or ``final_answer``; only the model's messages have one."""
    id: str | None = None
    extra: Fields = attrs.field(factory=dict)

    @property
    def text(self) -> str:
        """All text of the message, joined without separators."""
        return "".join(p.text for p in self.content if isinstance(p, InputText | OutputText))


@attrs.frozen(kw_only=True)
class Reasoning:
    """What the model thought: a summary for people, and an opaque form for itself."""

    summary: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    """Raw thoughts; never sent back."""
    encrypted_content: str | None = None
    id: str | None = None
    extra: Fields = attrs.field(factory=dict)


ToolKind: TypeAlias = Literal["function", "custom"]
"""``function`` calls carry JSON arguments; ``custom`` ones carry free text."""


@attrs.frozen(kw_only=True)
class ToolCall:
    """The model's request to use a tool."""

    call_id: str
    name: str
    arguments: str
    """JSON text, or for a custom tool whatever the tool's grammar allows."""
    kind: ToolKind = "function"
    namespace: str | None = None
    id: str | None = None
    extra: Fields = attrs.field(factory=dict)

    @property
    def tool(self) -> str:
        """The tool's full name: namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@attrs.frozen(kw_only=True)
class ToolOutput:
    """What the model gets back for a call, good or bad."""

    call_id: str
    output: str | tuple[ContentPart, ...]
    kind: ToolKind = "function"
    ok: bool = True
    """False when the tool failed. Not on the wire: the words must say it."""
    id: str | None = None
    extra: Fields = attrs.field(factory=dict)

    @property
    def text(self) -> str:
        """The textual part of the output."""
        if isinstance(self.output, str):
            return self.output
        return "\n".join(p.text for p in self.output if isinstance(p, InputText | OutputText))


@attrs.frozen
class OtherItem:
    """An item of a kind that this version does not act on; kept and sent back unchanged."""

    type: str
    fields: Fields


Item: TypeAlias = Message | Reasoning | ToolCall | ToolOutput | OtherItem


def user_message(text: str) -> Message:
    """A user's message of plain text."""
    return Message(role="user", content=(InputText(text),))


def developer_message(*texts: str) -> Message:
    """Instructions from the program, one content part per text."""
    return Message(role="developer", content=tuple(map(InputText, texts)))
