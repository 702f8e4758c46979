"""How turns end: as outcomes of their tasks, and with their times. Pure."""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

from ..core import Phase, Turn
from ..protocol import (
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskTimedOut,
    TurnAborted,
    TurnCompleted,
)

DEADLINE: Final = "deadline"
"""Who ends a turn that has taken the time it had."""
RESTART: Final = "restart"
"""Who ends a turn whose agent is brought down to be brought up again."""
SHUTDOWN: Final = "shutdown"
"""Who ends a turn whose agent ends, or whose tree does, if nobody else is named."""
BROKEN_OFF: Final = TaskFailed("the agent ended before its turn did", "internal_server_error")
BROUGHT_DOWN_TWICE: Final = TaskFailed(
    "the agent was brought down with another at it twice", "internal_server_error"
)
CRASHED_TWICE: Final = TaskFailed("the agent crashed at it twice", "internal_server_error")

End: TypeAlias = TurnCompleted | TurnAborted


def outcome_of(turn: Turn, seconds: float | None = None) -> TaskOutcome:
    """Return how a turn ended, as the outcome of its task.

    Args:
        turn: The turn.
        seconds: How long it might run, if that is why it ended.
    """
    match turn.phase:
        case Phase.DONE if turn.error is None:
            return TaskCompleted(turn.last_agent_message)
        case Phase.DONE:
            assert turn.error is not None
            kind = "other" if turn.error.info is None else turn.error.info.kind
            return TaskFailed(turn.error.message, kind)
        case Phase.ABORTED if turn.over is not None:
            return TaskOverBudget(turn.over)
        case Phase.ABORTED if turn.interrupted_by == DEADLINE and seconds is not None:
            return TaskTimedOut(seconds)
        case Phase.ABORTED:
            return TaskInterrupted(turn.interrupted_by or "user")
        case _:
            return BROKEN_OFF


def stopped_outcome(turn: Turn, seconds: float | None) -> TaskOutcome | None:
    """Return how a turn was to end that somebody stopped; None if it was to go on."""
    if turn.phase not in (Phase.STOPPING, Phase.ABORTED):
        return None
    return outcome_of(attrs.evolve(turn, phase=Phase.ABORTED), seconds)


def reason_of(outcome: TaskOutcome) -> str:
    """Return why a turn was not run, for people."""
    match outcome:
        case TaskFailed(message):
            return message
        case TaskOverBudget(limit):
            return limit
        case _:
            return "it was not wanted any more"


def timed(end: End, began_at: float, now: float) -> End:
    """Return the end of a turn with its times, in Unix seconds and whole milliseconds."""
    return attrs.evolve(
        end,
        started_at=int(began_at),
        completed_at=int(now),
        duration_ms=max(int((now - began_at) * 1000), 0),  # clocks are set back
    )
