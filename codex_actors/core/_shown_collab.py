"""The flat events that say the same as the items of work with agents.

Held by tests/core/test_shown_collab.py.
"""

from __future__ import annotations

from typing import assert_never

from ..protocol import (
    AgentActivityItem,
    AgentActivityNoted,
    AgentName,
    AgentStanding,
    AgentStatus,
    CollabAgentItem,
    CollabCloseBegan,
    CollabCloseEnded,
    CollabEvent,
    CollabInputBegan,
    CollabInputEnded,
    CollabResumeBegan,
    CollabResumeEnded,
    CollabSpawnBegan,
    CollabSpawnEnded,
    CollabWaitBegan,
    CollabWaitEnded,
)


def collab_began(item: CollabAgentItem, started_at_ms: int) -> CollabEvent:
    """Return the flat event that goes with the beginning of the item."""
    call_id, sender, receiver = item.id, item.sender_thread_id, _receiver(item)
    match item.tool:
        case "spawn_agent":
            return CollabSpawnBegan(
                call_id=call_id,
                sender_thread_id=sender,
                prompt=item.prompt or "",
                model=item.model or "",
                reasoning_effort=item.reasoning_effort or "",
                started_at_ms=started_at_ms,
            )
        case "send_input":
            return CollabInputBegan(
                call_id=call_id,
                sender_thread_id=sender,
                receiver_thread_id=receiver.thread_id,
                prompt=item.prompt or "",
                started_at_ms=started_at_ms,
            )
        case "wait":
            return CollabWaitBegan(
                call_id=call_id,
                sender_thread_id=sender,
                receiver_thread_ids=item.receiver_thread_ids,
                receiver_agents=item.receiver_agents,
                started_at_ms=started_at_ms,
            )
        case "close_agent":
            return CollabCloseBegan(
                call_id=call_id,
                sender_thread_id=sender,
                receiver_thread_id=receiver.thread_id,
                started_at_ms=started_at_ms,
            )
        case "resume_agent":
            return CollabResumeBegan(
                call_id=call_id,
                sender_thread_id=sender,
                receiver_thread_id=receiver.thread_id,
                receiver_agent_nickname=receiver.agent_nickname,
                receiver_agent_role=receiver.agent_role,
                started_at_ms=started_at_ms,
            )
        case _:
            assert_never(item.tool)


def collab_ended(item: CollabAgentItem, completed_at_ms: int) -> CollabEvent:
    """Return the flat event that goes with the end of the item."""
    match item.tool:
        case "spawn_agent":
            return _spawn_ended(item, completed_at_ms)
        case "wait":
            return _wait_ended(item, completed_at_ms)
        case "send_input":
            return _input_ended(item, completed_at_ms)
        case "close_agent":
            return _told_end(CollabCloseEnded, item, completed_at_ms)
        case "resume_agent":
            return _told_end(CollabResumeEnded, item, completed_at_ms)
        case _:
            assert_never(item.tool)


def activity_noted(item: AgentActivityItem, at_ms: int) -> CollabEvent:
    """Return the flat event that goes with the item."""
    return AgentActivityNoted(
        event_id=item.id,
        agent_thread_id=item.agent_thread_id,
        agent_path=item.agent_path,
        kind=item.kind,
        occurred_at_ms=at_ms,
    )


def _spawn_ended(item: CollabAgentItem, at_ms: int) -> CollabSpawnEnded:
    made = _receiver(item)
    return CollabSpawnEnded(
        call_id=item.id,
        sender_thread_id=item.sender_thread_id,
        new_thread_id=made.thread_id or None,
        new_agent_nickname=made.agent_nickname,
        new_agent_role=made.agent_role,
        prompt=item.prompt or "",
        model=item.model or "",
        reasoning_effort=item.reasoning_effort or "",
        status=_status(item),
        completed_at_ms=at_ms,
    )


def _input_ended(item: CollabAgentItem, at_ms: int) -> CollabInputEnded:
    receiver = _receiver(item)
    return CollabInputEnded(
        call_id=item.id,
        sender_thread_id=item.sender_thread_id,
        receiver_thread_id=receiver.thread_id,
        receiver_agent_nickname=receiver.agent_nickname,
        receiver_agent_role=receiver.agent_role,
        prompt=item.prompt or "",
        status=_status(item),
        completed_at_ms=at_ms,
    )


def _wait_ended(item: CollabAgentItem, at_ms: int) -> CollabWaitEnded:
    standings = [
        AgentStanding(
            thread_id=agent.thread_id,
            agent_nickname=agent.agent_nickname,
            agent_role=agent.agent_role,
            status=item.agents_states[agent.thread_id],
        )
        for agent in item.receiver_agents
        if agent.thread_id in item.agents_states
    ]
    return CollabWaitEnded(
        call_id=item.id,
        sender_thread_id=item.sender_thread_id,
        statuses=item.agents_states,
        agent_statuses=tuple(standings),
        completed_at_ms=at_ms,
    )


def _told_end(
    kind: type[CollabCloseEnded | CollabResumeEnded], item: CollabAgentItem, at_ms: int
) -> CollabEvent:
    receiver = _receiver(item)
    return kind(
        call_id=item.id,
        sender_thread_id=item.sender_thread_id,
        receiver_thread_id=receiver.thread_id,
        receiver_agent_nickname=receiver.agent_nickname,
        receiver_agent_role=receiver.agent_role,
        status=_status(item),
        completed_at_ms=at_ms,
    )


def _receiver(item: CollabAgentItem) -> AgentName:
    """Whom it is about; nobody, if nobody could be made."""
    if item.receiver_agents:
        return item.receiver_agents[0]
    return AgentName(thread_id=next(iter(item.receiver_thread_ids), ""))


def _status(item: CollabAgentItem) -> AgentStatus:
    return item.agents_states.get(_receiver(item).thread_id, "not_found")
