"""What an agent is doing, as a function of its last status and the next event.

Only ``shutdown`` absorbs: an agent that completed, failed or was interrupted runs again
when it is given something to do. Held by tests/core/test_status.py.
"""

from __future__ import annotations

from ..protocol import (
    AgentStatus,
    Completed,
    Errored,
    ErrorOccurred,
    EventMsg,
    ShutdownCompleted,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)

# Errors that refuse an operation and leave the turn as it was (engine: affects_turn_status).
_HARMLESS = frozenset({"thread_rollback_failed", "active_turn_not_steerable"})

_TELLING = frozenset({ErrorOccurred, ShutdownCompleted, TurnAborted, TurnCompleted, TurnStarted})


def next_status(status: AgentStatus, event: EventMsg) -> AgentStatus:
    """Return the status after ``event``."""
    if type(event) not in _TELLING or status == "shutdown":
        return status
    match event:
        case TurnStarted():
            return "running"
        case TurnCompleted(error=ErrorOccurred(message)):
            return Errored(message)
        case TurnCompleted(last_agent_message=message):
            return Completed(message)
        case TurnAborted(reason="interrupted" | "budget_limited"):
            return "interrupted"
        case TurnAborted(reason=reason):
            return Errored(reason)
        case ErrorOccurred(message, info) if info is None or info.kind not in _HARMLESS:
            return Errored(message)
        case ShutdownCompleted():
            return "shutdown"
        case _:
            return status


def is_final(status: AgentStatus) -> bool:
    """Whether whoever waits for the agent has something to read."""
    return status not in ("pending_init", "running", "interrupted")
