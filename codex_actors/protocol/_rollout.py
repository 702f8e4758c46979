"""The lines of a rollout file: the record of a thread, and the truth about it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from ._events import EventMsg
from ._items import Fields, Item
from ._permissions import ApprovalPolicy, SandboxPolicy


@attrs.frozen(kw_only=True)
class GitInfo:
    """Where the working directory stood in git when the thread began."""

    commit_hash: str | None = None
    branch: str | None = None
    repository_url: str | None = None


@attrs.frozen(kw_only=True)
class SessionMeta:
    """Who the thread is; always the first line."""

    id: str
    session_id: str
    """The root's thread id, for every agent of a tree."""
    timestamp: str
    cwd: str
    originator: str
    cli_version: str
    source: Any = "exec"
    """A word, or for a child a table that says who made it."""
    thread_source: str | None = None
    model_provider: str | None = None
    base_instructions: str | None = None
    history_mode: Literal["legacy", "paginated"] = "legacy"
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    agent_path: str | None = None
    agent_role: str | None = None
    agent_nickname: str | None = None
    multi_agent_version: str | None = None
    """``disabled``, or the generation of its tools for agents; None: what is usual."""
    git: GitInfo | None = None
    extra: Fields = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TurnContext:
    """The settings that a turn ran with."""

    turn_id: str | None = None
    cwd: str
    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    model: str
    effort: str | None = None
    summary: str = "auto"
    current_date: str | None = None
    timezone: str | None = None
    multi_agent_version: str | None = None
    extra: Fields = attrs.field(factory=dict)


@attrs.frozen
class Recorded:
    """An item entered the history."""

    item: Item
    encoded: bytes | None = attrs.field(default=None, eq=False, repr=False)
    """The item's JSON, when somebody has it already."""


@attrs.frozen
class EventLine:
    """An event that matters for replay or for people who read the file."""

    msg: EventMsg


@attrs.frozen(kw_only=True)
class Compacted:
    """The history before this line was replaced."""

    message: str
    replacement_history: tuple[Item, ...] | None = None
    extra: Fields = attrs.field(factory=dict)


@attrs.frozen
class UnknownLine:
    """A line of a kind that this version does not know; kept and passed through."""

    type: str
    payload: Any


RolloutPayload: TypeAlias = (
    SessionMeta | TurnContext | Recorded | EventLine | Compacted | UnknownLine
)


@attrs.frozen
class RolloutLine:
    """One line of a rollout file."""

    timestamp: str
    """UTC, ``YYYY-MM-DDThh:mm:ss.mmmZ``."""
    payload: RolloutPayload
    ordinal: int | None = None
    extra: Fields = attrs.field(factory=dict)
