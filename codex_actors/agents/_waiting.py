"""Waiting for tasks: for their records, not for the moment when they change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import trio

from ..actors import Watch
from ..core import Wait, find_ring, find_stuck
from ..protocol import TaskRecord, ThreadId
from ._commons import Commons, desk_here
from ._desk import Desk, Waiting
from ._errors import WaitRing

Records: TypeAlias = Sequence[Watch[TaskRecord]]


async def wait_all(commons: Commons, records: Records) -> tuple[TaskRecord, ...]:
    """Return the records of the tasks when all of them have ended, in their order.

    Raises:
        WaitRing: inside a tool, if that would be for ever.

    Cancellation: ends the waiting.
    """
    async with waiting_here(commons, records, every=True):
        return await all_settled(records)


async def wait_any(commons: Commons, records: Records) -> tuple[TaskRecord, ...]:
    """Return the records of all those that have ended, when there is one; of none, none.

    Raises:
        WaitRing: inside a tool, if that would be for ever.

    Cancellation: ends the waiting.
    """
    async with waiting_here(commons, records, every=False):
        return await any_settled(commons, records)


async def all_settled(records: Records) -> tuple[TaskRecord, ...]:
    """See `wait_all`; on nobody's behalf."""
    if not records:
        await trio.lowlevel.checkpoint()
    return tuple([await wait_settled(record) for record in records])


async def any_settled(commons: Commons, records: Records) -> tuple[TaskRecord, ...]:
    """See `wait_any`; on nobody's behalf."""
    ids = {record.get().id for record in records}
    if not records or any(map(_is_settled, records)):
        await trio.lowlevel.checkpoint()
    elif all(map(commons.books.knows, ids)):
        await commons.hub.wait_settled(ids)
    else:  # of other trees, which tell it elsewhere
        await _one_settled(records)
    return tuple(record.get() for record in records if _is_settled(record))


async def _one_settled(records: Records) -> None:
    async with trio.open_nursery() as nursery:

        async def watch(record: Watch[TaskRecord]) -> None:
            await wait_settled(record)
            nursery.cancel_scope.cancel(reason="one of the tasks has ended")

        for record in records:
            nursery.start_soon(watch, record)


async def wait_settled(record: Watch[TaskRecord]) -> TaskRecord:
    """Return the record of a task when it has ended.

    Cancellation: ends the waiting.
    """
    return await record.wait_value(lambda record: record.outcome is not None)


@asynccontextmanager
async def waiting_here(
    commons: Commons, records: Records, *, every: bool
) -> AsyncGenerator[None, None]:
    """Wait on behalf of the agent whose turn the caller works for, if it works for any.

    Raises:
        WaitRing: if that would be for ever.
    """
    desk = desk_here(commons)
    if desk is None or desk.run is None:
        yield
        return
    async with waiting_for(commons, desk, records, every=every):
        yield


@asynccontextmanager
async def waiting_for(
    commons: Commons, desk: Desk, records: Records, *, every: bool
) -> AsyncGenerator[None, None]:
    """Note that an agent waits for tasks, and let others run meanwhile.

    Raises:
        WaitRing: if that would be for ever.
    """
    async with _noted(commons, desk, Waiting(tuple(records), every)):
        yield


@asynccontextmanager
async def waiting_for_agents(
    commons: Commons, desk: Desk, agents: tuple[ThreadId, ...]
) -> AsyncGenerator[None, None]:
    """Note that an agent waits for one of several others, and let others run meanwhile.

    Raises:
        WaitRing: if that would be for ever.
    """
    async with _noted(commons, desk, Waiting((), every=False, agents=agents)):
        yield


@asynccontextmanager
async def _noted(commons: Commons, desk: Desk, wait: Waiting) -> AsyncGenerator[None, None]:
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
    waits = _waits_from(commons, desk)
    stuck = find_stuck(waits)
    if desk.thread_id in stuck:
        ways = {name: [t for wait in waits[name] for t in wait.targets] for name in stuck}
        held = {name: [target for target in ways[name] if target in stuck] for name in stuck}
        ring = find_ring(held, desk.thread_id)
        assert ring is not None, "stuck, though nobody waits for it"
        raise WaitRing(tuple(str(commons.desks[ThreadId(name)].path) for name in ring))


def _waits_from(commons: Commons, desk: Desk) -> dict[str, list[Wait]]:
    """What an agent waits for, and those that it waits for, and so on: nobody else matters."""
    waits: dict[str, list[Wait]] = {}
    ahead: list[Desk | None] = [desk]
    while ahead:
        other = ahead.pop()
        if other is not None and other.waiting and other.thread_id not in waits:
            waits[other.thread_id] = left = [_left(wait) for wait in other.waiting]
            targets = {target for wait in left for target in wait.targets}
            ahead += [commons.desks.get(ThreadId(target)) for target in targets]
    return waits


def _left(waiting: Waiting) -> Wait:
    """What is left of a wait: a task that has ended holds nobody up."""
    if waiting.agents:
        return Wait(waiting.agents, every=False)
    records = [record.get() for record in waiting.records]
    open_ones = tuple(record.thread_id for record in records if record.outcome is None)
    settled = len(open_ones) < len(records)
    return Wait(() if settled and not waiting.every else open_ones, waiting.every)


def _is_settled(record: Watch[TaskRecord]) -> bool:
    return record.get().outcome is not None
