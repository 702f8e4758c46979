"""The clerk of a tree: everything that its recorder and its journal write goes through it.

Going to a thread and back costs ten times what writing costs. So whoever wants something written
asks for a `Clerk.commit`, and whatever all writers have by then goes along, in one trip: lines of
rollouts first, entries of the journal after them. A turn that ends writes its last lines, has the
disk hold them, and settles its task at the price of one.

The thread is the clerk's own: to wake it takes half the time that `trio.to_thread` takes.

Invariants, held by tests/rollout/test_clerk.py:

* of each batch, every writer's job is done before that of the next writer, and all of it before
  anybody who waits for it goes on;
* a batch that has begun ends, whoever is cancelled, unless the clerk was told to `hurry`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol, TypeVar, final

import attrs
import outcome
import trio

from ._batches import Batches

CLOSING_SECONDS: Final = 5.0
"""How long leaving a recorder, a journal or a clerk waits for the disk."""

T = TypeVar("T")


class Job(Protocol):
    """What one writer has to write now."""

    def work(self) -> None:
        """Write it. In the clerk's thread, so it may block."""

    def done(self) -> None:
        """Note what came of it. Not in the thread, and before anybody who waits goes on."""


@final
class Clerk:
    """Writes what its writers have, one batch at a time. Made by `open_clerk`."""

    def __init__(self) -> None:
        self._writers: list[Callable[[], Job | None]] = []
        self._batches = Batches(self._write)
        self._thread = _ClerksThread()
        self._hurried = False

    @property
    def batches(self) -> int:
        """How many batches were begun."""
        return self._batches.count

    @property
    def writing(self) -> bool:
        """Whether a batch is under way."""
        return self._batches.running

    def employ(self, writer: Callable[[], Job | None]) -> None:
        """Ask the writer for its job at each batch, after those who were employed before."""
        self._writers.append(writer)

    async def commit(self) -> None:
        """Have everything written that the writers had before this call.

        Cancellation: a batch that has begun ends first.
        """
        await self._batches.run()

    async def wait_current(self) -> None:
        """Return when the batch that is under way now, if any, has ended."""
        await self._batches.wait_current()

    async def run(self, work: Callable[[], T]) -> T:
        """Do something between two batches, in the clerk's thread, and return what it gives.

        Cancellation: what has begun ends first.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        return await self._thread.run(work)

    def hurry(self) -> None:
        """Let who is cancelled from now on leave a batch to itself, since a disk may hang."""
        self._hurried = True

    async def aclose(self) -> None:
        """Wait for the end of the thread.

        Cancellation: the thread ends once it has done what it was given.
        """
        await self._thread.aclose()

    async def _write(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        jobs = [job for writer in self._writers if (job := writer()) is not None]
        if not jobs:
            # Whoever wrote last wrote for this caller too, who has waited for it.
            return

        def work() -> None:
            for job in jobs:
                job.work()

        await self._thread.run(work, abandon=self._hurried)
        for job in jobs:
            job.done()


@asynccontextmanager
async def open_clerk() -> AsyncGenerator[Clerk, None]:
    """Open the clerk of a tree. Its thread begins with the first batch and ends with the block.

    Cancellation: the end of the thread is waited for, for at most `CLOSING_SECONDS`.
    """
    clerk = Clerk()
    try:
        yield clerk
    finally:
        with trio.move_on_after(CLOSING_SECONDS, shield=True):
            await clerk.aclose()


@final
@attrs.define(eq=False)
class _Errand:
    """Something for the thread to do, and the task that waits for it."""

    _work: Callable[[], Any]
    _task: trio.lowlevel.Task = attrs.field(factory=trio.lowlevel.current_task)
    _token: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    _abandoned: bool = False

    def run(self) -> None:
        """Do it, in the thread."""
        result = outcome.capture(self._work)
        # Trio may have ended meanwhile; then nobody waits.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._deliver, result)

    def _deliver(self, result: outcome.Outcome[Any]) -> None:
        if not self._abandoned:
            trio.lowlevel.reschedule(self._task, result)

    def abandon(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        """Let the task go; the thread goes on alone."""
        self._abandoned = True
        return trio.lowlevel.Abort.SUCCEEDED


@final
class _ClerksThread:
    """Runs one errand after another."""

    def __init__(self) -> None:
        self._errands: SimpleQueue[_Errand | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._hangs = False

    async def run(self, work: Callable[[], T], *, abandon: bool = False) -> T:
        """Run ``work`` after what was given to the thread before.

        Args:
            work: What to do.
            abandon: Whether a caller that is cancelled leaves it alone, instead of waiting.
        """
        if self._thread is None:
            # A daemon, since a disk that hangs must not keep the process from ending.
            self._thread = Thread(target=self._live, name="clerk", daemon=True)
            self._thread.start()
        errand = _Errand(work)
        self._errands.put(errand)
        try:
            result: T = await trio.lowlevel.wait_task_rescheduled(
                errand.abandon if abandon else _stay
            )
        except trio.Cancelled:
            self._hangs = True
            raise
        return result

    async def aclose(self) -> None:
        """Let the thread end after what it was given, and wait for that unless it hangs."""
        try:
            if self._thread is not None and not self._hangs:
                await self.run(lambda: None, abandon=True)
            else:
                await trio.lowlevel.checkpoint()
        finally:
            self._thread = None
            self._errands.put(None)

    def _live(self) -> None:
        while (errand := self._errands.get()) is not None:
            errand.run()


def _stay(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED
