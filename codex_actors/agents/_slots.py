"""How many turns run at once: a turn that only waits for others does not count."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import final

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

    def slot(self, path: str) -> Slot:
        """A place for the turns of one agent, not taken yet."""
        return Slot(self._limiter, path) if self.limited else Slot(None, path)


@final
class Slot:
    """One turn's place among those that run.

    The turn's workers count themselves in with `work`. When all of them that are left wait
    for somebody else, the slot is given back, and the first that goes on takes it again: four
    parents that wait for four queued children would else wait for ever.
    """

    def __init__(self, limiter: trio.CapacityLimiter | None, path: str) -> None:
        self._limiter = limiter
        self._borrower = path
        self._held = False
        self._working = 0
        self._waiting = 0
        self._taking: trio.Event | None = None
        self._over = False

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

    def begin_work(self) -> None:
        """Count a worker of the turn in. Not a checkpoint."""
        self._working += 1

    def end_work(self) -> None:
        """Count it out. Not a checkpoint."""
        self._working -= 1
        self._settle()

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None, None]:
        """Wait for somebody else: for use by a tool, around its waiting.

        Cancellation: the slot is not taken again; a turn that is being stopped needs none.
        """
        self._working -= 1
        self._waiting += 1
        self._settle()
        try:
            yield
        finally:
            self._waiting -= 1
            self._working += 1
        await self.take()

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
        if not self._working and self._waiting:
            self._give_back()
