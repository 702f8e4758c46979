"""Giving agents tasks."""

from __future__ import annotations

import trio

from ..actors import ActorTerminated, Exit
from ..core import Entry
from ..protocol import TaskFailed, UserTurn
from ._asking import ask
from ._commons import Commons
from ._desk import Desk
from ._feed import TaskFeed


async def assign_task(
    commons: Commons,
    desk: Desk,
    op: UserTurn,
    entries: tuple[Entry, ...],
    *,
    giver: Desk | None = None,
    seconds: float | None = None,
) -> TaskFeed:
    """Give an agent a task, after those that it was given before; it is on disk then.

    Args:
        commons: The tree's.
        desk: Who is to do it.
        op: What is to be done.
        entries: The same, as the history will hold it.
        giver: The agent that gives it, and is told how it ended; None: nobody is.
        seconds: How long its turn may run.

    Raises:
        ActorTerminated: if the agent has ended.
        JournalError: if the disk refuses to hold the task; then there is none.

    Cancellation: the task may have been given; its record is in the journal then.
    """
    feed = await commons.books.assign(
        desk,
        op.items,
        assigned_by=None if giver is None else giver.path,
        reply_to=None if giver is None else giver.thread_id,
    )
    desk.last_task = feed.task_id
    try:
        await ask(commons, desk, op, entries, feed.task_id, seconds)
    except ActorTerminated:
        await commons.books.settle(feed.task_id, TaskFailed("the agent has ended"))
        raise
    return feed


async def check_alive(desk: Desk) -> None:
    """Refuse to talk to who has ended, or ends.

    Raises:
        ActorTerminated: if the agent does.
    """
    if desk.closing or desk.ref is None or isinstance(desk.ref.status.get(), Exit):
        await trio.lowlevel.checkpoint()
        raise ActorTerminated(desk.path.text)
