"""The tasks that work for one turn: its stream, its tools, its wait for the next attempt.

They run in a nursery of the agent's scope, under one cancel scope per turn. A tool that
does not end when it is cancelled is left behind after a grace, named, and goes with the
agent.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, final

import attrs
import trio

GRACE: Final = 5.0
"""Seconds between cancelling a turn's workers and ending the turn without them (DESIGN)."""


@final
@attrs.define(eq=False)
class TurnWorkers:
    """Starts workers, and says when they are gone. Made by `open_workers`."""

    _home: trio.Nursery
    _over: trio.Event = attrs.field(factory=trio.Event)
    _gone: trio.Event = attrs.field(factory=trio.Event)
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _nursery: trio.Nursery | None = None
    _deadline: float = math.inf
    """Until when the workers are waited for, on Trio's clock."""
    calls: dict[str, float] = attrs.field(factory=dict)
    """When each tool that is at work was started, on Trio's clock, by call id."""

    def start(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Run ``work`` until it is done or the turn is stopped. Not a checkpoint."""
        assert self._nursery is not None
        self._nursery.start_soon(work, name=name)

    def stop(self, report: Callable[[], Awaitable[None]]) -> None:
        """Cancel every worker, and run ``report`` beside their end. Not a checkpoint."""
        self._cancel("the turn was interrupted")
        self._home.start_soon(report, name="report of a turn's end")

    async def wait_gone(self) -> bool:
        """Wait until no worker runs; False if some still does after the grace.

        Cancellation: shielded, and ends `GRACE` seconds after they were cancelled: a turn's
            end must be recorded when its agent is cancelled, too.
        """
        with trio.CancelScope(deadline=self._deadline, shield=True):
            await self._gone.wait()
        return self._gone.is_set()

    async def _serve(self, *, task_status: trio.TaskStatus[None]) -> None:
        try:
            with self._scope:
                async with trio.open_nursery() as self._nursery:
                    task_status.started()
                    await self._over.wait()
        finally:
            self._gone.set()

    def _finish(self) -> None:
        self._over.set()
        self._cancel("the turn is over")

    def _cancel(self, reason: str) -> None:
        self._deadline = min(self._deadline, trio.current_time() + GRACE)
        self._scope.cancel(reason=reason)


@asynccontextmanager
async def open_workers(home: trio.Nursery) -> AsyncGenerator[TurnWorkers, None]:
    """Open a place for one turn's workers.

    Leaving it cancels them, and waits for them no longer than `GRACE`.

    Args:
        home: A nursery of the agent's scope; it holds whoever does not end in time.
    """
    workers = TurnWorkers(home)
    await home.start(workers._serve)
    try:
        yield workers
    finally:
        workers._finish()
        await workers.wait_gone()
