"""How many turns run at once: a turn that only waits for others does not count."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar, Token
from typing import Final, final

import attrs
import trio


@final
class Slots:
    """The running-turn slots of a tree.

    Args:
        running: How many turns may run at once; None: any number.
    """

    def __init__(self, running: int | None) -> None:
        self._limiter = trio.CapacityLimiter(math.inf if running is None else running)
        self.limited = running is not None

    def holders(self) -> tuple[str, ...]:
        """Paths of the agents whose turns run."""
        return tuple(sorted(map(str, self._limiter.statistics().borrowers)))

    def slot(self, path: str, thread_id: str) -> Slot:
        """A place for a turn of an agent, not taken yet."""
        return Slot(self._limiter if self.limited else None, path, thread_id)


@final
class Slot:
    """One turn's place among those that run.

    The turn's workers count themselves in with `work`. When all of them that are left wait
    for somebody else, the slot is given back, and the first that goes on takes it again: four
    parents that wait for four queued children would else wait for ever.
    """

    def __init__(self, limiter: trio.CapacityLimiter | None, path: str, thread_id: str) -> None:
        self.thread_id = thread_id
        """Of the agent whose turn it is."""
        self._limiter = limiter
        self._borrower = path
        self._held = False
        self._working = 0
        self._waiting = 0
        self._taking: trio.Event | None = None
        self._over = False

    @property
    def limited(self) -> bool:
        """Whether it may have to be waited for."""
        return self._limiter is not None

    async def take(self) -> None:
        """Wait until a turn may run. One that is over needs no slot, and gets none.

        Cancellation: none was taken.
        """
        await trio.lowlevel.checkpoint()
        while self._limiter is not None and not self._held and not self._over:
            if self._taking is None:
                await self._take(self._limiter)
            else:
                await self._taking.wait()

    def leave(self) -> None:
        """Let another turn run, for good. Not a checkpoint."""
        self._over = True
        self._give_back()

    def __str__(self) -> str:
        return self._borrower

    def work(self) -> AbstractContextManager[object]:
        """Count a worker of the turn in, for as long as the block runs."""
        return _Worker(self)

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None, None]:
        """Wait for somebody else: for use by a tool, around its waiting.

        A worker that waits for several things at once, or one within another, waits once.

        Cancellation: the slot is not taken again; a turn that is being stopped needs none.
        """
        worker = _WORKER.get()
        if worker is None or worker.slot is not self:
            worker = _Worker(self)
        worker.begin_wait()
        try:
            yield
        finally:
            goes_on = worker.end_wait()
        if goes_on:
            await self.take()

    def _count(self, workers: int) -> None:
        """Count workers in, or out."""
        self._working += workers
        self._settle()

    def _note(self, waits: int) -> None:
        """Count a worker from those at work to those that wait, or back."""
        self._working -= waits
        self._waiting += waits
        self._settle()

    async def _take(self, limiter: trio.CapacityLimiter) -> None:
        self._taking = taking = trio.Event()
        try:
            await limiter.acquire_on_behalf_of(self)
            self._held = True
        finally:
            self._taking = None
            taking.set()
        if self._over:
            self._give_back()

    def _give_back(self) -> None:
        if self._held and self._limiter is not None:
            self._held = False
            self._limiter.release_on_behalf_of(self)

    def _settle(self) -> None:
        if self._working <= 0 and self._waiting:
            self._give_back()


@attrs.define(eq=False)
class _Worker:
    """A tool or a sampling, with all tasks that it has started."""

    slot: Slot
    waits: int = 0
    _before: Token[_Worker | None] | None = None

    def __enter__(self) -> None:
        self.slot._count(1)
        self._before = _WORKER.set(self)

    def __exit__(self, *_: object) -> None:
        assert self._before is not None
        _WORKER.reset(self._before)
        self.slot._count(-1)

    def begin_wait(self) -> None:
        self.waits += 1
        if self.waits == 1:
            self.slot._note(1)

    def end_wait(self) -> bool:
        """Return whether nothing of it waits any more."""
        self.waits -= 1
        if not self.waits:
            self.slot._note(-1)
        return not self.waits


_WORKER: Final[ContextVar[_Worker | None]] = ContextVar("worker of a turn", default=None)


def slot_here() -> Slot | None:
    """Return the place of the turn that the caller works for; None if it works for none.

    A tool, and every task that it starts, works for its turn until that is over.
    """
    worker = _WORKER.get()
    return None if worker is None or worker.slot._over else worker.slot
