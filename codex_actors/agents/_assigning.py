"""Giving agents tasks."""

from __future__ import annotations

import trio

from ..actors import ActorTerminated
from ..core import Entry
from ..protocol import AgentPath, TaskFailed, TaskId, ThreadId, UserTurn
from ._asking import ask
from ._books import SETTLING
from ._commons import Commons
from ._desk import Desk
from ._feed import TaskFeed


async def assign_task(
    commons: Commons,
    desk: Desk,
    op: UserTurn,
    entries: tuple[Entry, ...],
    *,
    assigned_by: AgentPath | None = None,
    reply_to: ThreadId | None = None,
    seconds: float | None = None,
) -> TaskFeed:
    """Give an agent a task, after those that it was given before; it is on disk then.

    Args:
        commons: The tree's.
        desk: Who is to do it.
        op: What is to be done.
        entries: The same, as the history will hold it.
        assigned_by: The agent that gives it, if one does.
        reply_to: Who is told how it ended; None: nobody is.
        seconds: How long its turn may run.

    Raises:
        ActorTerminated: if the agent has ended.
        JournalError: if the disk refuses to hold the task; then there is none.

    Cancellation: the task may have been given, or have ended as interrupted before that; its
        record is in the journal then.
    """
    feed = await commons.books.assign(desk, op.items, assigned_by=assigned_by, reply_to=reply_to)
    desk.last_task = feed.task_id
    try:
        await ask(commons, desk, op, entries, feed.task_id, seconds)
    except ActorTerminated:
        await _settle_refused(commons, feed.task_id)
        raise
    finally:
        # Who buries an agent settles what it finds, and may have come before the task.
        if desk.thread_id not in commons.desks:
            await _settle_refused(commons, feed.task_id)
    return feed


async def _settle_refused(commons: Commons, task_id: TaskId) -> None:
    """Settle a task that no agent takes any more, whoever waits for that."""
    with trio.move_on_after(SETTLING, shield=True):
        await commons.books.settle(task_id, TaskFailed("the agent has ended"))
