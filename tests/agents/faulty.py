"""A disk in memory that knows what was written when, and fails when it is told to."""

from __future__ import annotations

import errno
from collections.abc import Callable

import attrs
import trio

from codex_actors.protocol import EventLine, RolloutPayload, ThreadId, TurnAborted, TurnCompleted
from codex_actors.rollout import (
    FlushReport,
    Journal,
    JournalState,
    MemoryRecorder,
    RecorderStatistics,
    Rollout,
)
from codex_actors.rollout._batches import Batches
from codex_actors.rollout._clerk import Job

LATENCY = 0.001
"""Seconds that a write takes."""


class Planted(RuntimeError):
    """What a tool, a model client or a recorder with a bug raises."""


@attrs.define(eq=False)
class Disk:
    """A `Recorder`."""

    _inner: MemoryRecorder = attrs.field(factory=lambda: MemoryRecorder(now=lambda: 0.0))
    lines: dict[ThreadId, list[RolloutPayload]] = attrs.field(factory=dict)
    flushed: dict[ThreadId, int] = attrs.field(factory=dict)
    """How many of the lines are safe."""
    refused: dict[ThreadId, int] = attrs.field(factory=dict)
    """How many of the lines it was said of that they wait."""
    bug: str | None = None
    """What raises the next time: ``append`` or ``flush``."""
    bitten: set[ThreadId] = attrs.field(factory=set)
    """Threads that had lines in hand then."""
    heard: Callable[[ThreadId], None] = lambda _: None
    """Told of each line, and whose it is."""
    refusals: float = 0
    """How many flushes are still to be refused."""
    bites: Callable[[], None] = lambda: None
    """Called when something goes wrong that was planted."""
    report: FlushReport = FlushReport()
    syncs: int = 0
    """How many flushes were to be held by the disk itself."""

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        if self.bug == "append":
            self.bug = None
            self.bites()
            self.bitten.add(thread_id)
            raise Planted("append")
        self._inner.append(thread_id, payload)
        self.heard(thread_id)
        self.lines.setdefault(thread_id, []).append(payload)

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        self._inner.adopt(thread_id, path, next_ordinal=next_ordinal)

    def path(self, thread_id: ThreadId) -> str | None:
        return None

    def statistics(self) -> RecorderStatistics:
        return self._inner.statistics()

    async def flush(self, *, sync: bool = False) -> FlushReport:
        await trio.lowlevel.checkpoint_if_cancelled()
        self.syncs += sync
        lengths = {thread_id: len(lines) for thread_id, lines in self.lines.items()}
        if self.bug == "flush":
            self.bug = None
            self.bites()
            self.bitten |= {name for name, n in lengths.items() if n > self.flushed.get(name, 0)}
            raise Planted("flush")
        with trio.CancelScope(shield=True):  # a write that has begun ends first
            await trio.sleep(LATENCY)
        if self.refusals:
            self.bites()
            self.refusals -= 1
            _raise(self.refused, lengths)
            self.report = FlushReport(problem="planted", since=0.0, waiting=1)
        else:
            _raise(self.flushed, lengths)
            self.report = FlushReport()
        return self.report

    async def read(self, thread_id: ThreadId) -> Rollout:
        return await self._inner.read(thread_id)

    def ends_are_safe(self, thread_id: ThreadId) -> bool:
        """Whether the last turn's end is flushed, or was refused, which is said first."""
        ends = [
            number
            for number, line in enumerate(self.lines.get(thread_id, ()), 1)
            if isinstance(line, EventLine) and isinstance(line.msg, TurnAborted | TurnCompleted)
        ]
        known = max(self.flushed.get(thread_id, 0), self.refused.get(thread_id, 0))
        return not ends or ends[-1] <= known


def _raise(counts: dict[ThreadId, int], to: dict[ThreadId, int]) -> None:
    counts |= {name: max(counts.get(name, 0), count) for name, count in to.items()}


@attrs.define(eq=False)
class Ledger:
    """Where a journal's entries go: nowhere, or nowhere because the disk refuses them."""

    path: str = "the journal"
    refusals: float = 0
    """How many writes are still to be refused."""
    full: bool = False
    """Whether the last one was."""
    bites: Callable[[], None] = lambda: None
    """Called when one is."""

    def append(self, data: bytes) -> None:
        self.full = bool(self.refusals)
        if self.full:
            self.bites()
            self.refusals -= 1
            raise OSError(errno.ENOSPC, "no space left")

    def close(self) -> None:
        pass


class InlineClerk:
    """Does what a clerk does without a thread, so that a clock may jump."""

    def __init__(self) -> None:
        self._writers: list[Callable[[], Job | None]] = []
        self._batches = Batches(self._write)

    def employ(self, writer: Callable[[], Job | None]) -> None:
        self._writers.append(writer)

    async def commit(self) -> None:
        await self._batches.run()

    async def wait_current(self) -> None:
        await self._batches.wait_current()

    async def _write(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        jobs = [job for writer in self._writers if (job := writer()) is not None]
        with trio.CancelScope(shield=True):
            await trio.sleep(LATENCY)
        for job in jobs:
            job.work()
            job.done()


def journal_on(ledger: Ledger) -> Journal:
    """A journal whose entries go there."""
    return Journal(JournalState(), lambda: 0.0, (ledger, InlineClerk()))  # type: ignore[arg-type]
