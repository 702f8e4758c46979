"""How an agent was left, from the end of its rollout. Pure.

An agent that is not loaded is known by this: its rollout may have megabytes, its last lines say
what it was doing. `codex_actors.rollout.read_tail` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import next_status
from ..protocol import (
    AgentStatus,
    EventLine,
    RolloutLine,
    SessionMeta,
    TokensCounted,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from ._turn_ends import DEADLINE, RESTART, SHUTDOWN


def last_status(lines: Sequence[RolloutLine]) -> AgentStatus:
    """What the agent had come to when its program ended.

    A turn that began and did not end was interrupted by that.

    Args:
        lines: The last lines of its rollout, or all, oldest first. If they do not begin with the
            rollout's first line, the agent is taken to have been at work before them: between
            turns little is recorded, in a turn much.
    """
    status: AgentStatus = "pending_init" if _is_beginning(lines) else "running"
    for line in lines:
        if isinstance(line.payload, EventLine):
            status = next_status(status, line.payload.msg)
    return "interrupted" if status == "running" else status


def last_usage(lines: Sequence[RolloutLine]) -> TokenUsageInfo | None:
    """What the agent had used, as its lines say last; None if they do not say."""
    for line in reversed(lines):
        match line.payload:
            case EventLine(TokensCounted(info)) if info is not None:
                return info
            case _:
                continue
    return None


def last_interrupter(lines: Sequence[RolloutLine]) -> str | None:
    """Who has stopped the agent in its last turn, so that it does not go on until it is told to.

    None if it was not stopped, or only by a clock, a limit or the end of its program.
    """
    for line in reversed(lines):
        match line.payload:
            case EventLine(TurnAborted(reason="interrupted", interrupted_by=by)):
                return None if by in (DEADLINE, RESTART, SHUTDOWN) else by
            case EventLine(TurnStarted() | TurnCompleted() | TurnAborted()):
                return None
            case _:
                continue
    return None


def _is_beginning(lines: Sequence[RolloutLine]) -> bool:
    return not lines or isinstance(lines[0].payload, SessionMeta)
