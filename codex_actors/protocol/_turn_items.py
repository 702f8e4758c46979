"""The visible pieces of a turn, as people follow it: payload of item events."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ._changes import FileChange
from ._items import Fields
from ._ops import UserInput

ItemProgress: TypeAlias = Literal["in_progress", "completed", "failed", "declined"]


@attrs.frozen(kw_only=True)
class UserMessageItem:
    """What a user said."""

    id: str
    content: tuple[UserInput, ...]


@attrs.frozen(kw_only=True)
class AgentMessageItem:
    """What the model said."""

    id: str
    text: str
    phase: str | None = None


@attrs.frozen(kw_only=True)
class ReasoningItem:
    """What the model thought."""

    id: str
    summary_text: tuple[str, ...] = ()
    raw_content: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class CommandItem:
    """A command and how it went."""

    id: str
    """The call's id."""
    command: tuple[str, ...]
    """The argument vector that was executed."""
    cwd: str
    status: ItemProgress
    source: str = "unified_exec_startup"
    process_id: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration: float | None = None
    """Seconds."""


@attrs.frozen(kw_only=True)
class FileChangeItem:
    """A patch and how it went."""

    id: str
    """The call's id."""
    changes: dict[str, FileChange]
    """By absolute path."""
    status: ItemProgress
    auto_approved: bool | None = None
    stdout: str | None = None
    stderr: str | None = None


@attrs.frozen(kw_only=True)
class ImageViewItem:
    """A picture that the model looked at."""

    id: str
    path: str


@attrs.frozen
class OtherTurnItem:
    """A piece of a kind that this version does not know."""

    type: str
    fields: Fields


TurnItem: TypeAlias = (
    UserMessageItem
    | AgentMessageItem
    | ReasoningItem
    | CommandItem
    | FileChangeItem
    | ImageViewItem
    | OtherTurnItem
)
