"""The recorder whose rollouts are files.

Invariants, held by tests/rollout/test_recorder.py:

* a thread's lines reach its file in the order they were appended, each once, whatever the disk
  refuses, tears or takes late, and whoever is cancelled;
* a flush whose report has no problem has handed everything appended before it to the kernel.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from functools import partial
from typing import final

import attrs
import trio

from ..protocol import RolloutLine, RolloutPayload, SessionMeta, ThreadId
from ..wire import decode_line, encode_line
from ._clerk import Clerk, Rest
from ._errors import EmptyRollout, ThreadNotRecorded
from ._files import Append, Appended, AppendFiles
from ._paths import rollout_path, time_stamp
from ._reading import Rollout, read_rollout
from ._report import FlushReport, RecorderStatistics


@final
@attrs.define(eq=False)
class _Waiting:
    """One file, and the lines that it does not have yet."""

    path: str
    ordinal: int | None = None
    lines: list[bytes] = attrs.field(factory=list)
    torn: int = 0
    """Bytes of the first line that the file has already."""
    begun: bool = False
    """Whether this recorder wrote to the file."""

    def append(self, payload: RolloutPayload, stamp: str) -> None:
        self.lines.append(encode_line(RolloutLine(stamp, payload, self.ordinal)))
        if self.ordinal is not None:
            self.ordinal += 1

    def job(self) -> Append:
        return Append(self.path, b"".join(self.lines)[self.torn :], self.begun)

    def settle(self, appended: Appended) -> None:
        """Forget what the file has now. Lines that came since the job are at the end."""
        self.begun = self.begun or appended.written > 0
        have, whole = self.torn + appended.written, 0
        while whole < len(self.lines) and have >= len(self.lines[whole]):
            have -= len(self.lines[whole])
            whole += 1
        del self.lines[:whole]
        self.torn = have


@final
@attrs.define(eq=False)
class _Disk:
    """The files, and whether the disk itself holds what they have. Only for the clerk's thread."""

    files: AppendFiles
    problem: OSError | None = None
    """What it had against it when it was last asked to hold everything."""

    def hold(self) -> None:
        self.problem = self.files.sync()


@final
@attrs.define(eq=False, kw_only=True)
class _Batch:
    """What is written in one go: a `Job` of the clerk."""

    disk: _Disk
    waiting: list[tuple[ThreadId, _Waiting]]
    syncs: int
    """How many times the disk was asked to hold everything, before this batch."""
    sync: bool
    close: bool
    settle: Callable[[_Batch], None]
    appends: list[Append] = attrs.field(init=False)
    appended: list[Appended] = attrs.field(factory=list)
    problem: OSError | None = None
    """What the disk had against what it was asked to hold before."""

    def __attrs_post_init__(self) -> None:
        self.appends = [waiting.job() for _, waiting in self.waiting]

    def work(self) -> Rest | None:
        """See `Job.work`."""
        self.appended = self.disk.files.append(self.appends)
        if self.close:
            self.disk.hold()
            self.disk.files.close()
        self.problem = self.disk.problem
        # Nobody waits for the disk itself: what the kernel has survives this process.
        return self.disk.hold if self.sync and not self.close else None

    def done(self) -> None:
        """See `Job.done`."""
        self.settle(self)


@final
class FileRecorder:
    """A `Recorder` that writes files. Made by `open_recorder`."""

    def __init__(
        self, home: str, clerk: Clerk, *, now: Callable[[], float], max_open_files: int
    ) -> None:
        self._home = home
        self._clerk = clerk
        self._now = now
        self._files = AppendFiles(max_open_files)
        self._disk = _Disk(self._files)
        self._threads: dict[ThreadId, _Waiting] = {}
        # Threads with lines that wait. A dict is an ordered set: who came first is written first.
        self._dirty: dict[ThreadId, None] = {}
        self._syncs_asked = self._syncs_done = 0
        self._closed = False
        self._report = FlushReport()
        clerk.employ(self._batch)

    @property
    def report(self) -> FlushReport:
        """See `Recorder.report`."""
        return self._report

    def statistics(self) -> RecorderStatistics:
        """See `Recorder.statistics`."""
        return RecorderStatistics(
            threads=len(self._threads),
            open_files=self._files.open_count,
            batches=self._clerk.batches,
            waiting=sum(len(thread.lines) for thread in self._threads.values()),
        )

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        """See `Recorder.append`."""
        if self._closed:
            raise trio.ClosedResourceError
        now = self._now()
        if thread_id not in self._threads:
            if not isinstance(payload, SessionMeta):
                raise ThreadNotRecorded(thread_id)
            self._threads[thread_id] = _Waiting(rollout_path(self._home, thread_id, now))
        self._threads[thread_id].append(payload, time_stamp(now))
        self._dirty[thread_id] = None

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        """See `Recorder.adopt`."""
        self._threads.setdefault(thread_id, _Waiting(os.path.abspath(path), next_ordinal))

    def path(self, thread_id: ThreadId) -> str | None:
        """See `Recorder.path`."""
        waiting = self._threads.get(thread_id)
        return None if waiting is None else waiting.path

    async def flush(self, *, sync: bool = False) -> FlushReport:
        """See `Recorder.flush`."""
        if self._closed:
            raise trio.ClosedResourceError
        if sync and (self._dirty or self._files.unsynced or self._clerk.writing):
            self._syncs_asked += 1
            await self._clerk.commit()
        elif self._dirty:
            await self._clerk.commit()
        else:
            await trio.lowlevel.checkpoint()
        return self._report

    async def read(self, thread_id: ThreadId) -> Rollout:
        """See `Recorder.read`."""
        if thread_id not in self._threads:
            raise ThreadNotRecorded(thread_id)
        await self.flush()
        waiting = self._threads[thread_id]
        # By the clerk: nothing moves from memory to the file meanwhile.
        rollout = await self._clerk.run(partial(_read_if_there, waiting.path))
        lines = rollout.lines + tuple(map(decode_line, waiting.lines))
        if not lines:
            raise EmptyRollout(waiting.path)
        return attrs.evolve(rollout, lines=lines)

    async def aclose(self) -> None:
        """Write what is left, have the disk hold it, and close all files.

        Cancellation: what the disk did not take in time may be lost; `report` says so.
        """
        if self._closed:
            await trio.lowlevel.checkpoint()
            return
        self._closed = True
        self._clerk.hurry()
        self._syncs_asked += 1
        self._report = self._refused("it did not answer in time")
        await self._clerk.commit()

    def _batch(self) -> _Batch | None:
        waiting = [(thread_id, self._threads[thread_id]) for thread_id in self._dirty]
        sync = self._syncs_asked > self._syncs_done
        if not (waiting or sync):
            return None
        return _Batch(
            disk=self._disk,
            waiting=waiting,
            syncs=self._syncs_asked,
            sync=sync,
            close=self._closed,
            settle=self._settle,
        )

    def _settle(self, batch: _Batch) -> None:
        self._syncs_done = batch.syncs
        problem = batch.problem
        for (thread_id, waiting), result in zip(batch.waiting, batch.appended, strict=True):
            waiting.settle(result)
            problem = problem or result.problem
            if not waiting.lines:
                del self._dirty[thread_id]
        self._report = FlushReport() if problem is None else self._refused(_reason(problem))

    def _refused(self, reason: str) -> FlushReport:
        waiting = self.statistics().waiting
        return FlushReport(
            problem=f"the disk does not take the record of this session: {reason};"
            f" {waiting} lines wait for it",
            since=self._report.since or self._now(),
            waiting=waiting,
        )


def _read_if_there(path: str) -> Rollout:
    try:
        return read_rollout(path) if os.path.exists(path) else Rollout(lines=())
    except EmptyRollout:
        return Rollout(lines=())


def _reason(problem: OSError) -> str:
    words = problem.strerror or str(problem)
    return f"{words} ({problem.filename!r})" if problem.filename else words
