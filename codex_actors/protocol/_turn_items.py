"""The visible pieces of a turn, as people follow it: payload of item events."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ._changes import FileChange
from ._items import Fields
from ._ops import UserInput
from ._status import AgentStatus

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


@attrs.frozen(kw_only=True)
class AgentName:
    """An agent, as people know it."""

    thread_id: str
    agent_nickname: str | None = None
    agent_role: str | None = None


CollabTool: TypeAlias = Literal["spawn_agent", "send_input", "resume_agent", "wait", "close_agent"]


@attrs.frozen(kw_only=True)
class CollabAgentItem:
    """A model made, told, awaited or ended other agents."""

    id: str
    """The call's id."""
    tool: CollabTool
    status: ItemProgress
    sender_thread_id: str
    receiver_thread_ids: tuple[str, ...] = ()
    receiver_agents: tuple[AgentName, ...] = ()
    prompt: str | None = None
    model: str | None = None
    """What a spawned agent got; while it is being spawned, what was asked for."""
    reasoning_effort: str | None = None
    agents_states: dict[str, AgentStatus] = attrs.field(factory=dict)
    """By thread id."""


ActivityKind: TypeAlias = Literal["started", "interacted", "interrupted", "completed"]


@attrs.frozen(kw_only=True)
class AgentActivityItem:
    """What a model did with another agent, where agents are named by paths."""

    id: str
    """The call's id; of an end, ``subagent-completed-`` and the id of the agent's turn."""
    kind: ActivityKind
    agent_thread_id: str
    agent_path: str
    model: str | None = None
    reasoning_effort: str | None = None


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
    | CollabAgentItem
    | AgentActivityItem
    | OtherTurnItem
)
