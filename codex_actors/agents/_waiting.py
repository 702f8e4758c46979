"""Waiting for tasks: for their records, not for the moment when they change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager

import trio

from ..core import Wait, find_ring, find_stuck
from ..protocol import TaskRecord, ThreadId
from ._commons import Commons
from ._desk import Desk, Waiting
from ._errors import WaitRing
from ._task import Task


async def wait_all(tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
    """Return the records of the tasks when all of them have ended, in their order.

    Cancellation: ends the waiting; `Task.record` says what is known.
    """
    if not tasks:
        await trio.lowlevel.checkpoint()
    return tuple([await task.wait() for task in tasks])


async def wait_any(commons: Commons, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
    """Return the records of all those that have ended, when there is one; of none, none.

    Cancellation: ends the waiting; `Task.record` says what is known.
    """
    await commons.hub.settlements.wait_value(lambda _: not tasks or any(map(_is_settled, tasks)))
    return tuple(task.record.get() for task in tasks if _is_settled(task))


@asynccontextmanager
async def waiting_for(
    commons: Commons, desk: Desk, tasks: Iterable[Task], *, every: bool
) -> AsyncGenerator[None, None]:
    """Note that an agent waits for tasks, and let others run meanwhile.

    Raises:
        WaitRing: if that would be for ever.
    """
    wait = Waiting(tuple(task.record for task in tasks), every)
    desk.waiting.append(wait)
    try:
        _check_ring(commons, desk)
        if desk.run is None:
            yield
        else:
            async with desk.run.waiting():
                yield
    finally:
        desk.waiting.remove(wait)


def _check_ring(commons: Commons, desk: Desk) -> None:
    """Refuse what closes a ring, unless there is a way out of it."""
    waits = {
        other.thread_id: [_left(wait) for wait in other.waiting]
        for other in commons.desks.values()
        if other.waiting
    }
    stuck = find_stuck(waits)
    if desk.thread_id in stuck:
        ways = {name: [t for wait in waits[name] for t in wait.targets] for name in stuck}
        held = {name: [target for target in ways[name] if target in stuck] for name in stuck}
        ring = find_ring(held, desk.thread_id)
        assert ring is not None, "stuck, though nobody waits for it"
        raise WaitRing(tuple(str(commons.desks[ThreadId(name)].path) for name in ring))


def _left(waiting: Waiting) -> Wait:
    """What is left of a wait: a task that has ended holds nobody up."""
    records = [record.get() for record in waiting.records]
    open_ones = tuple(record.thread_id for record in records if record.outcome is None)
    settled = len(open_ones) < len(records)
    return Wait(() if settled and not waiting.every else open_ones, waiting.every)


def _is_settled(task: Task) -> bool:
    return task.record.get().outcome is not None
