"""The journal of a tree: agents and tasks, written before they are acted on.

Invariants, held by tests/rollout/test_journal.py:

* what a method returned is in the journal; what it raised `JournalError` for is not;
* a task has one outcome, the first that the journal took, and everybody who settles it is told
  that one;
* reading the journal back gives the state that its methods returned.
"""

from __future__ import annotations

import errno
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import final

import attrs
import trio

from ..protocol import TaskId, TaskOutcome, TaskRecord, ThreadId
from ..wire import WireError
from ._clerk import CLOSING_SECONDS, Clerk, open_clerk
from ._entries import (
    AgentClosed,
    AgentCreated,
    AgentEdge,
    Entry,
    JournalState,
    TaskAssigned,
    TaskSettled,
    add_entry,
    add_up,
    decode_entry,
    encode_entry,
)
from ._errors import DuplicateTask, JournalRefused, JournalUnreadable, UnknownTask
from ._ledger import FileLedger
from ._paths import journal_path, time_stamp


@final
@attrs.define(eq=False)
class _Slip:
    """An entry on its way into the journal."""

    entry: Entry
    data: bytes
    refused: OSError | None = attrs.field(
        factory=lambda: OSError(errno.EIO, "the write did not come to its end")
    )
    """Why the disk did not take it; None once it did."""


@final
@attrs.define(eq=False)
class _Page:
    """Entries that are written in one go: a `Job` of the clerk."""

    ledger: FileLedger
    slips: list[_Slip]
    note: Callable[[_Slip], None]

    def work(self) -> None:
        """See `Job.work`."""
        refused: OSError | None = None
        try:
            self.ledger.append(b"".join([slip.data for slip in self.slips]))
        except OSError as error:
            refused = error
        for slip in self.slips:
            slip.refused = refused

    def done(self) -> None:
        """See `Job.done`."""
        for slip in self.slips:
            self.note(slip)


@final
class Journal:
    """The one writer of a tree's agents and tasks. Made by `open_journal`."""

    def __init__(
        self,
        state: JournalState,
        now: Callable[[], float],
        writing: tuple[FileLedger, Clerk] | None,
    ) -> None:
        self._agents = dict(state.agents)
        self._tasks = dict(state.tasks)
        self._now = now
        self._writing = writing
        self._slips: list[_Slip] = []
        # Outcomes that go along with the next batch, and nobody waits for yet.
        self._soon: dict[TaskId, _Slip] = {}
        self._settling: dict[TaskId, trio.Event] = {}
        self._closed = False
        if writing is not None:
            writing[1].employ(self._page)

    @property
    def state(self) -> JournalState:
        """What the journal says now."""
        return JournalState(agents=dict(self._agents), tasks=dict(self._tasks))

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """What is written of a task; None if it was never assigned."""
        return self._tasks.get(task_id)

    async def create_agent(self, edge: AgentEdge) -> None:
        """Write down that an agent is made, before it is.

        Raises:
            JournalError: if the disk refuses; then the agent must not be made.

        Cancellation: it is written or not, never by halves.
        """
        await self._enter(AgentCreated(edge))

    async def close_agent(self, thread_id: ThreadId) -> None:
        """Write down that an agent is closed: it is not resumed with its tree.

        Raises:
            JournalError: if the disk refuses.

        Cancellation: it is written or not, never by halves.
        """
        await self._enter(AgentClosed(thread_id))

    async def assign(self, record: TaskRecord) -> None:
        """Write down that an agent is given work, before it is.

        Raises:
            JournalError: if the disk refuses, or the task's id is taken; then it must not be
                given.

        Cancellation: it is written or not, never by halves.
        """
        if record.id in self._tasks:
            raise DuplicateTask(record.id)
        await self._enter(TaskAssigned(record))

    async def settle(self, task_id: TaskId, outcome: TaskOutcome) -> TaskRecord:
        """Write down how a task ended, and return its record, to be announced.

        The first outcome counts. Who comes later is given the record as it is; who comes while
        the first is being written waits for it.

        Raises:
            UnknownTask: if it was never assigned.
            JournalError: if the disk refuses; then the task is still unsettled.

        Cancellation: it is written or not, never by halves.
        """
        while task_id in self._settling:
            await self._settling[task_id].wait()
        if task_id not in self._tasks:
            raise UnknownTask(task_id)
        if self._tasks[task_id].outcome is None:
            await self._settle(task_id, outcome)
        else:
            await trio.lowlevel.checkpoint()
        return self._tasks[task_id]

    def settle_soon(self, task_id: TaskId, outcome: TaskOutcome) -> None:
        """Have the next batch of the clerk, whoever asks for it, settle a task.

        Whether it did, `settle` tells, and tries again if the disk refused. Not a checkpoint.
        """
        known = self._tasks.get(task_id)
        if known is None or known.outcome is not None or task_id in self._settling:
            return
        if self._writing is not None and task_id not in self._soon and not self._closed:
            self._soon[task_id] = self._put(self._settled(task_id, outcome))

    async def aclose(self) -> None:
        """Take no more entries.

        Cancellation: nothing is lost; every entry was handed to the kernel when it was made.
        """
        self._closed = True
        if self._writing is not None:
            await trio.to_thread.run_sync(self._writing[0].close, abandon_on_cancel=True)
        else:
            await trio.lowlevel.checkpoint()

    async def _settle(self, task_id: TaskId, outcome: TaskOutcome) -> None:
        self._settling[task_id] = trio.Event()
        try:
            slip = self._soon.get(task_id)
            await self._finish(slip or self._put(self._settled(task_id, outcome)))
        finally:
            self._soon.pop(task_id, None)
            self._settling.pop(task_id).set()

    def _settled(self, task_id: TaskId, outcome: TaskOutcome) -> TaskSettled:
        return TaskSettled(task_id, outcome, time_stamp(self._now()))

    async def _enter(self, entry: Entry) -> None:
        await self._finish(self._put(entry))

    def _put(self, entry: Entry) -> _Slip:
        if self._closed:
            raise trio.ClosedResourceError
        slip = _Slip(entry, encode_entry(entry, time_stamp(self._now())))
        self._slips.append(slip)
        return slip

    async def _finish(self, slip: _Slip) -> None:
        """Have the slip written."""
        if self._writing is None:
            await self._keep(slip)
            return
        ledger, clerk = self._writing
        try:
            await clerk.commit()
        except trio.Cancelled:
            await self._withdraw(slip, clerk)
            raise
        if slip.refused is not None:
            reason = slip.refused.strerror or str(slip.refused)
            raise JournalRefused(ledger.path, reason) from slip.refused

    async def _keep(self, slip: _Slip) -> None:
        self._slips.remove(slip)
        await trio.lowlevel.checkpoint()
        slip.refused = None
        self._note(slip)

    async def _withdraw(self, slip: _Slip, clerk: Clerk) -> None:
        """Leave no entry behind that a cancelled caller does not know of."""
        if slip in self._slips:
            self._slips.remove(slip)
        else:
            # Another caller may be writing it. That takes as long as one batch.
            with trio.CancelScope(shield=True):
                await clerk.wait_current()

    def _page(self) -> _Page | None:
        if self._writing is None or not self._slips:
            return None
        slips, self._slips = self._slips, []
        return _Page(self._writing[0], slips, self._note)

    def _note(self, slip: _Slip) -> None:
        entry = slip.entry
        if isinstance(entry, TaskSettled):
            self._soon.pop(entry.task_id, None)
        if slip.refused is None:
            add_entry(self._agents, self._tasks, entry)


@asynccontextmanager
async def open_journal(
    home: str | None,
    root: ThreadId,
    *,
    clerk: Clerk | None = None,
    now: Callable[[], float] = time.time,
) -> AsyncGenerator[Journal, None]:
    """Open the journal of a tree, new or with what it says already (`Journal.state`).

    Args:
        home: Absolute path of the home directory; the file is made below it with the first
            entry. None: the journal is kept in memory alone.
        root: Thread id of the tree's root.
        clerk: Who writes it; by default one of the journal's own.
        now: Unix time in seconds, for the stamps of entries.

    Raises:
        JournalError: if there is a journal that cannot be read.

    Cancellation: closing is shielded, and bounded by `CLOSING_SECONDS`.
    """
    async with AsyncExitStack() as stack:
        state = JournalState()
        writing: tuple[FileLedger, Clerk] | None = None
        if home is not None:
            ledger = FileLedger(journal_path(home, root))
            state = await trio.to_thread.run_sync(read_journal, ledger.path)
            if clerk is None:
                clerk = await stack.enter_async_context(open_clerk())
            writing = ledger, clerk
        journal = Journal(state, now, writing)
        try:
            yield journal
        finally:
            with trio.move_on_after(CLOSING_SECONDS, shield=True):
                await journal.aclose()


def read_journal(path: str) -> JournalState:
    """What a journal says. One that is not there says nothing. Blocking: call it in a thread.

    Raises:
        JournalError: if it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return JournalState()
    except OSError as error:
        raise JournalUnreadable(path, error.strerror or str(error)) from error
    entries: list[Entry] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = decode_entry(line) if line.strip() else None
        except WireError as error:
            problems.append(f"line {number}: {error}")
        else:
            entries.extend([] if entry is None else [entry])
    return add_up(entries, tuple(problems))
