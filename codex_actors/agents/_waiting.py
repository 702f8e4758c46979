"""Waiting for tasks: for their records, not for the moment when they change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager

from ..core import find_ring
from ..protocol import TaskRecord, ThreadId
from ._commons import Commons
from ._desk import Desk
from ._errors import WaitRing
from ._task import Task


async def wait_all(tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
    """Return the records of the tasks when all of them have ended, in their order.

    Cancellation: ends the waiting; `Task.record` says what is known.
    """
    return tuple([await task.wait() for task in tasks])


async def wait_any(commons: Commons, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
    """Return the records of all those that have ended, when there is one.

    Cancellation: ends the waiting; `Task.record` says what is known.
    """
    await commons.hub.settlements.wait_value(lambda _: any(map(_is_settled, tasks)))
    return tuple(task.record.get() for task in tasks if _is_settled(task))


@asynccontextmanager
async def waiting_for(
    commons: Commons, desk: Desk, tasks: Iterable[Task], *, every: bool
) -> AsyncGenerator[None, None]:
    """Note that an agent waits for tasks, and let others run meanwhile.

    Raises:
        WaitRing: if that would be for ever.
    """
    targets = tuple(task.record.get().thread_id for task in tasks if not _is_settled(task))
    async with waiting_for_agents(commons, desk, targets, every=every):
        yield


@asynccontextmanager
async def waiting_for_agents(
    commons: Commons, desk: Desk, targets: tuple[ThreadId, ...], *, every: bool
) -> AsyncGenerator[None, None]:
    """Note that an agent waits for others to be done, and let others run meanwhile.

    Raises:
        WaitRing: if that would be for ever.
    """
    _check_ring(commons, desk, targets, every=every)
    key = object()
    desk.waits_for[key] = targets
    try:
        if desk.run is None:
            yield
        else:
            async with desk.run.waiting():
                yield
    finally:
        del desk.waits_for[key]


def _check_ring(commons: Commons, desk: Desk, targets: Sequence[ThreadId], *, every: bool) -> None:
    """Refuse what closes a ring: of all waits one is enough, of several either all must."""
    rings = [_ring(commons, desk, target) for target in targets]
    closed = [ring for ring in rings if ring is not None]
    if closed and (every or len(closed) == len(targets)):
        raise WaitRing(closed[0])


def _ring(commons: Commons, desk: Desk, target: ThreadId) -> tuple[str, ...] | None:
    waits: dict[str, list[str]] = {
        thread_id: [name for names in other.waits_for.values() for name in names]
        for thread_id, other in commons.desks.items()
        if other.waits_for
    }
    ring = find_ring({**waits, desk.thread_id: [target]}, desk.thread_id)
    if ring is None:
        return None
    return tuple(str(commons.desks[ThreadId(name)].path) for name in ring)


def _is_settled(task: Task) -> bool:
    return task.record.get().outcome is not None
