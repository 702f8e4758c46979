"""The recorder of a tree: one for all its rollouts."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol, final

import attrs
import trio

from ..protocol import RolloutLine, RolloutPayload, SessionMeta, ThreadId
from ._clerk import CLOSING_SECONDS, Clerk, open_clerk
from ._errors import ThreadNotRecorded
from ._file_recorder import FileRecorder
from ._paths import time_stamp
from ._reading import Rollout
from ._report import FlushReport, RecorderStatistics


class Recorder(Protocol):
    """What agents write their rollouts with."""

    @property
    def report(self) -> FlushReport:
        """How the last flush went."""

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        """Put a line at the end of a thread's rollout; the next flush writes it.

        A thread is known from its `SessionMeta` on, or once its file is adopted. Not a
        checkpoint.

        Raises:
            ThreadNotRecorded: if the thread is not known.
            trio.ClosedResourceError: if the recorder is closed.
        """

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        """Go on with the rollout of a thread that is resumed. Not a checkpoint.

        Args:
            thread_id: The thread.
            path: Its file.
            next_ordinal: The number of its next line, if its lines are numbered
                (`Rollout.next_ordinal`).
        """

    def path(self, thread_id: ThreadId) -> str | None:
        """Where the thread's rollout is, or will be once it is flushed; None: nowhere."""

    def statistics(self) -> RecorderStatistics:
        """How much it has to do, for people."""
        ...

    async def flush(self, *, sync: bool = False) -> FlushReport:
        """Hand everything that was appended before this call to the kernel.

        What the kernel has survives the death of this process. A disk that refuses is no
        error here: the lines are kept, in order, and the next flush tries again; the report
        says so.

        Args:
            sync: Whether the disk itself is to hold them right afterwards, which survives the
                death of the machine. That is not waited for; what the disk had against it is
                in the next report.

        Raises:
            trio.ClosedResourceError: if the recorder is closed.

        Cancellation: nothing is lost or written twice. A write that has begun ends first.
        """
        ...

    async def read(self, thread_id: ThreadId) -> Rollout:
        """Everything recorded of a thread so far, on disk or waiting for it.

        Raises:
            ThreadNotRecorded: if the thread is not known.
            EmptyRollout: if there is nothing.
            UnreadableRollout: if its file cannot be read.

        Cancellation: nothing has changed.
        """
        ...


@asynccontextmanager
async def open_recorder(
    home: str | None,
    *,
    clerk: Clerk | None = None,
    now: Callable[[], float] = time.time,
    max_open_files: int = 64,
) -> AsyncGenerator[Recorder, None]:
    """Open the recorder of a tree.

    Leaving the block writes what is left and has the disk hold it, for at most
    `CLOSING_SECONDS`; `Recorder.report` says afterwards whether that went well.

    Args:
        home: Absolute path of the home directory; files are made below it when they are
            first flushed. None: nothing is written to disk.
        clerk: Who writes them; by default one of the recorder's own.
        now: Unix time in seconds, for the stamps of lines.
        max_open_files: How many files may be open at once.

    Cancellation: closing is shielded, and bounded as above.
    """
    if home is None:
        yield MemoryRecorder(now=now)
        return
    async with AsyncExitStack() as stack:
        if clerk is None:
            clerk = await stack.enter_async_context(open_clerk())
        recorder = FileRecorder(home, clerk, now=now, max_open_files=max_open_files)
        try:
            yield recorder
        finally:
            with trio.move_on_after(CLOSING_SECONDS, shield=True):
                await recorder.aclose()


@final
@attrs.define(eq=False, kw_only=True)
class MemoryRecorder:
    """A `Recorder` that writes nothing to disk; its threads are gone with it."""

    _now: Callable[[], float] = time.time
    _lines: dict[ThreadId, list[RolloutLine]] = attrs.field(factory=dict, init=False)

    @property
    def report(self) -> FlushReport:
        """See `Recorder.report`."""
        return FlushReport()

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        """See `Recorder.append`."""
        if thread_id not in self._lines and not isinstance(payload, SessionMeta):
            raise ThreadNotRecorded(thread_id)
        line = RolloutLine(time_stamp(self._now()), payload)
        self._lines.setdefault(thread_id, []).append(line)

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:  # noqa: ARG002
        """See `Recorder.adopt`. The file is left as it is."""
        self._lines.setdefault(thread_id, [])

    def path(self, thread_id: ThreadId) -> str | None:  # noqa: ARG002
        """See `Recorder.path`."""
        return None

    def statistics(self) -> RecorderStatistics:
        """See `Recorder.statistics`."""
        return RecorderStatistics(threads=len(self._lines), open_files=0, batches=0, waiting=0)

    async def flush(self, *, sync: bool = False) -> FlushReport:  # noqa: ARG002
        """See `Recorder.flush`."""
        await trio.lowlevel.checkpoint()
        return self.report

    async def read(self, thread_id: ThreadId) -> Rollout:
        """See `Recorder.read`."""
        await trio.lowlevel.checkpoint()
        if thread_id not in self._lines:
            raise ThreadNotRecorded(thread_id)
        return Rollout(lines=tuple(self._lines[thread_id]))
