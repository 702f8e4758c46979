"""The clerk of a tree: everything that its recorder and its journal write goes through it.

Going to a thread and back costs ten times what writing costs. So whoever wants something written
asks for a `Clerk.commit`, and whatever all writers have by then goes along, in one trip: lines of
rollouts first, entries of the journal after them. A turn that ends writes its last lines, has the
disk hold them, and settles its task at the price of one.

The thread is the clerk's own: to it and back takes half as long as by `trio.to_thread`.

Invariants, held by tests/rollout/test_clerk.py:

* of each batch, every writer's job is done before that of the next writer, and all of it before
  anybody who waits for it goes on; one that crashes keeps no other from being done;
* a batch that has begun ends, whoever is cancelled, unless the clerk was told to `hurry`;
* what a job leaves for later is done before the next batch, and nobody waits for it but that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol, TypeAlias, TypeVar, final

import attrs
import outcome
import trio

from ._batches import Batches

CLOSING_SECONDS: Final = 5.0
"""How long leaving a recorder, a journal or a clerk waits for the disk."""

T = TypeVar("T")
Rest: TypeAlias = Callable[[], object]
"""Something that raises nothing."""


class Job(Protocol):
    """What one writer has to write now."""

    def work(self) -> Rest | None:
        """Write it. In the clerk's thread, so it may block.

        Returns:
            What is left to do that nobody waits for: done in the thread before its next batch.
        """

    def done(self) -> None:
        """Note what came of it. Not in the thread, and before anybody who waits goes on."""


@final
class Clerk:
    """Writes what its writers have, one batch at a time. Made by `open_clerk`."""

    def __init__(self) -> None:
        self._writers: list[Callable[[], Job | None]] = []
        self._batches = Batches(self._write)
        self._thread = _ClerksThread()
        self._errands: list[_Errand] = []
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
        """Do something in the clerk's thread, between two batches' writing; return what it gives.

        Cancellation: what has begun ends first.
        """
        errand = _Errand(work)
        self._errands.append(errand)
        try:
            await self.commit()
        except trio.Cancelled:
            if errand in self._errands:
                self._errands.remove(errand)
            raise
        result: T = errand.result.unwrap()
        return result

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
        jobs += self._errands
        self._errands.clear()
        if not jobs:
            # Whoever wrote last wrote for this caller too, who has waited for it.
            return
        works = [job.work for job in jobs]
        crash: BaseException | None = None
        ends = await self._thread.run(works, self._hurried)
        for job, end in zip(jobs, ends, strict=True):
            if isinstance(end, outcome.Error):
                crash = crash or end.error
            else:
                job.done()
        if crash is not None:
            raise crash


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
    """Something else to do: a `Job` that may fail."""

    _work: Callable[[], Any]
    result: outcome.Outcome[Any] = attrs.field(init=False)

    def work(self) -> Rest | None:
        """See `Job.work`."""
        self.result = outcome.capture(self._work)
        return None

    def done(self) -> None:
        """See `Job.done`."""


@final
@attrs.define(eq=False)
class _Load:
    """What the thread is given at once."""

    works: Sequence[Callable[[], Rest | None]]
    ends: Sequence[outcome.Outcome[Rest | None]] = ()
    """How each ended; nothing: they have not."""


@final
class _ClerksThread:
    """A thread that does one thing at a time, for one task at a time.

    It rings by a pipe that the task itself listens to: Trio's own way into its loop costs two
    rounds of it, and this happens several times in a turn.
    """

    def __init__(self) -> None:
        self._loads: SimpleQueue[_Load | None] = SimpleQueue()
        self._bell: int | None = None
        self._hangs = False

    async def run(
        self,
        works: Sequence[Callable[[], Rest | None]],
        abandon: bool,  # noqa: FBT001
    ) -> Sequence[outcome.Outcome[Rest | None]]:
        """Run functions one after another, and return how each ended.

        What they return is run after this has returned.

        Args:
            works: What to do.
            abandon: Whether a caller that is cancelled leaves it alone, instead of waiting.
        """
        if self._bell is None:
            self._bell, rope = os.pipe()
            # A daemon, since a disk that hangs must not keep the process from ending.
            Thread(target=self._live, args=(rope,), name="clerk", daemon=True).start()
        load = _Load(works)
        self._loads.put(load)
        with trio.CancelScope(shield=not abandon):
            self._hangs = True
            while not load.ends:  # it may ring first for what was abandoned
                await trio.lowlevel.wait_readable(self._bell)
                os.read(self._bell, 1)
            self._hangs = False
        return load.ends

    async def aclose(self) -> None:
        """Let the thread end after what it was given, and wait for that unless it hangs."""
        self._loads.put(None)
        bell, self._bell = self._bell, None
        if bell is None:
            await trio.lowlevel.checkpoint()
            return
        try:
            if self._hangs:
                await trio.lowlevel.checkpoint()
            else:
                await trio.lowlevel.wait_readable(bell)
        finally:
            os.close(bell)

    def _live(self, rope: int) -> None:
        while (load := self._loads.get()) is not None:
            ends = load.ends = [outcome.capture(work) for work in load.works]
            # Nobody listens any more when it took too long.
            with contextlib.suppress(BrokenPipeError):
                os.write(rope, b"!")
            for rest in [end.value for end in ends if isinstance(end, outcome.Value)]:
                if rest is not None:
                    rest()
        os.close(rope)
