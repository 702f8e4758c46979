"""One write at a time; whoever asks while it runs shares the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

import trio


@final
class Batches:
    """Lets many callers share few writes, without a background task and without a lock.

    The first caller writes. Those who come meanwhile wait; when the write is over, one of
    them writes once for all. A writer that is cancelled before its write began leaves the work
    to the next.
    """

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._began = 0
        self._ended = 0
        self._over: trio.Event | None = None

    @property
    def count(self) -> int:
        """How many writes have begun so far."""
        return self._began

    @property
    def running(self) -> bool:
        """Whether a write is under way."""
        return self._over is not None

    async def wait_current(self) -> None:
        """Return when the write that is under way now, if any, has ended."""
        if self._over is None:
            await trio.lowlevel.checkpoint()
        else:
            await self._over.wait()

    async def run(self) -> None:
        """Return when a write that began after this call has ended.

        Cancellation: others go on; a write that has begun is ended first.
        """
        goal = self._began + 1
        while self._ended < goal:
            if self._over is None:
                await self._lead()
            else:
                await self._over.wait()

    async def _lead(self) -> None:
        self._over = over = trio.Event()
        self._began += 1
        try:
            await self._write()
            self._ended = self._began
        finally:
            self._over = None
            over.set()
