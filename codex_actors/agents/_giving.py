"""Giving a task to an agent: written down first, then handed over, and ended if nobody takes it."""

from __future__ import annotations

from ..actors import ActorTerminated, ReplyPort
from ..core import Entry
from ..protocol import (
    Generation,
    TaskFailed,
    TaskId,
    TaskInterrupted,
    TaskOutcome,
    ThreadId,
    UserTurn,
    Verdict,
)
from ._asking import ask
from ._commons import Commons, agent_here
from ._deadlines import settling
from ._desk import Desk
from ._feed import TaskFeed


async def give(
    commons: Commons,
    desk: Desk,
    op: UserTurn,
    entries: tuple[Entry, ...],
    *,
    seconds: float | None,
    reply_to: ThreadId | None,
    generation: Generation | None = None,
) -> TaskFeed:
    """Give a task, and return where its events will be.

    Args:
        commons: The tree's.
        desk: Who is to do it.
        op: What is to be done.
        entries: The same as the history will hold it.
        seconds: How long its turn may run.
        reply_to: The thread that is told how it ended.
        generation: Of the tools with which an agent's model gives it.

    Raises:
        ActorTerminated: if the agent has ended.
        JournalError: if the disk refuses to hold the task; then there is none.

    Cancellation: the agent has it, or there is none, or it has ended as interrupted.
    """
    feed = await commons.books.assign(
        desk, op.items, assigned_by=agent_here(commons), reply_to=reply_to, generation=generation
    )
    ports: list[ReplyPort[Verdict]] = []
    ended = False
    try:
        await ask(commons, desk, op, entries, task_id=feed.task_id, seconds=seconds, ports=ports)
    except ActorTerminated:
        ended = True
        raise
    finally:
        if ended or not any(port.sent for port in ports):
            # Whoever buried the agent settled what the journal had, and may have come before this.
            ended = ended or desk.thread_id not in commons.desks
            await _settle(commons, feed.task_id, _untaken(commons, ended=ended))
    desk.last_task = feed.task_id
    return feed


def _untaken(commons: Commons, *, ended: bool) -> TaskOutcome:
    giver = agent_here(commons)
    if ended:
        return TaskFailed("the agent has ended")
    return TaskInterrupted("user" if giver is None else giver.text)


async def _settle(commons: Commons, task_id: TaskId, outcome: TaskOutcome) -> None:
    with settling():
        await commons.books.settle(task_id, outcome)
