"""Work given to an agent, and the one record of how it ended."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ._collaboration import Generation
from ._ids import AgentPath, TaskId, ThreadId


@attrs.frozen
class TaskCompleted:
    """The turn ended well."""

    message: str | None
    """The agent's last message."""


@attrs.frozen
class TaskFailed:
    """The turn ended with an error, or its agent ended before it."""

    message: str
    kind: str = "other"
    """As in `ErrorInfo.kind`."""


@attrs.frozen
class TaskInterrupted:
    """Somebody ended the turn."""

    by: str


@attrs.frozen
class TaskTimedOut:
    """The task's deadline passed."""

    seconds: float


@attrs.frozen
class TaskOverBudget:
    """A limit was reached."""

    limit: str


TaskOutcome: TypeAlias = (
    TaskCompleted | TaskFailed | TaskInterrupted | TaskTimedOut | TaskOverBudget
)


@attrs.frozen(kw_only=True)
class TaskRecord:
    """One task, from assignment to its only outcome."""

    id: TaskId
    thread_id: ThreadId
    path: AgentPath
    text: str
    assigned_at: str
    """UTC, as in rollout lines."""
    turn_id: str | None = None
    outcome: TaskOutcome | None = None
    """None while the task is unsettled."""
    settled_at: str | None = None
    assigned_by: AgentPath | None = None
    """The agent that gave it; None: a person or a program."""
    reply_to: ThreadId | None = None
    """The thread that is told the outcome; None: whoever holds the task, nobody else."""
    generation: Generation | None = None
    """Of the tools that it was given with: how its end is told. None: a program gave it."""
