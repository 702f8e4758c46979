"""What an agent tells of its work with others, in the flat form that older programs read.

The items of the turn say the same; see `CollabAgentItem` and `AgentActivityItem`.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ._status import AgentStatus
from ._turn_items import ActivityKind, AgentName


@attrs.frozen(kw_only=True)
class CollabSpawnBegan:
    """A model asked for an agent."""

    call_id: str
    sender_thread_id: str
    prompt: str
    model: str
    """What was asked for; empty if nothing was."""
    reasoning_effort: str
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabSpawnEnded:
    """It has one now, or was refused."""

    call_id: str
    sender_thread_id: str
    new_thread_id: str | None
    """None: there is no such agent."""
    prompt: str
    model: str
    """What the agent got."""
    reasoning_effort: str
    status: AgentStatus
    new_agent_nickname: str | None = None
    new_agent_role: str | None = None
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabInputBegan:
    """A model has something to tell an agent."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    prompt: str
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabInputEnded:
    """The agent has it, or it could not be given."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    prompt: str
    status: AgentStatus
    """How the agent stood then."""
    receiver_agent_nickname: str | None = None
    receiver_agent_role: str | None = None
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabWaitBegan:
    """A model waits for agents; without receivers: for any of them."""

    call_id: str
    sender_thread_id: str
    receiver_thread_ids: tuple[str, ...]
    receiver_agents: tuple[AgentName, ...] = ()
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class AgentStanding:
    """An agent, as people know it, and how it stands."""

    thread_id: str
    status: AgentStatus
    agent_nickname: str | None = None
    agent_role: str | None = None


@attrs.frozen(kw_only=True)
class CollabWaitEnded:
    """It waits no longer."""

    call_id: str
    sender_thread_id: str
    statuses: dict[str, AgentStatus]
    """Of those that have nothing to do, by thread id; none if time was over."""
    agent_statuses: tuple[AgentStanding, ...] = ()
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabCloseBegan:
    """A model ends an agent."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabCloseEnded:
    """The agent has ended."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    status: AgentStatus
    """How it stood before."""
    receiver_agent_nickname: str | None = None
    receiver_agent_role: str | None = None
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabResumeBegan:
    """A model brings an agent back."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    receiver_agent_nickname: str | None = None
    receiver_agent_role: str | None = None
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class CollabResumeEnded:
    """The agent is there again, or is not."""

    call_id: str
    sender_thread_id: str
    receiver_thread_id: str
    status: AgentStatus
    receiver_agent_nickname: str | None = None
    receiver_agent_role: str | None = None
    completed_at_ms: int = 0


@attrs.frozen(kw_only=True)
class AgentActivityNoted:
    """A model did something with an agent that has a path, or such an agent has finished."""

    event_id: str
    agent_thread_id: str
    agent_path: str
    kind: ActivityKind
    occurred_at_ms: int = 0


CollabEvent: TypeAlias = (
    CollabSpawnBegan
    | CollabSpawnEnded
    | CollabInputBegan
    | CollabInputEnded
    | CollabWaitBegan
    | CollabWaitEnded
    | CollabCloseBegan
    | CollabCloseEnded
    | CollabResumeBegan
    | CollabResumeEnded
    | AgentActivityNoted
)
