"""The journal of a tree: agents, tasks and letters, written before they are acted on.

Invariants, held by tests/rollout/test_journal.py:

* what a method returned is in the journal; what it raised `JournalError` for is not, and of many
  entries in one call either all are there or none;
* what was to be written late is in the journal before anything that comes after it;
* a task has one outcome, the first that the journal took, and everybody who settles it is told
  that one;
* reading the journal back gives the state that its methods returned.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Literal, TypeAlias, final

import attrs
import trio

from ..protocol import LetterId, PostedLetter, TaskId, TaskOutcome, TaskRecord, ThreadId
from ._clerk import CLOSING_SECONDS, Clerk, open_clerk
from ._entries import (
    AgentClosed,
    AgentCreated,
    AgentEdge,
    Entry,
    LetterPosted,
    LettersDelivered,
    TaskAssigned,
    TaskSettled,
    Together,
    encode_entry,
)
from ._errors import DuplicateTask, UnknownTask
from ._journal_lines import read_journal
from ._ledger import FileLedger
from ._page import Slip
from ._paths import journal_path, time_stamp
from ._tally import JournalState, Tally
from ._tray import Tray

CloseReason: TypeAlias = Literal["closed", "crashed"]
"""Somebody closed the agent, or it crashed for good."""


@final
class Journal:
    """The one writer of a tree's agents and tasks. Made by `open_journal`."""

    def __init__(
        self,
        state: JournalState,
        now: Callable[[], float],
        writing: tuple[FileLedger, Clerk] | None,
    ) -> None:
        self._tally = Tally.of(state)
        self._now = now
        self._on_disk = writing is not None
        self._tray = Tray(writing, self._note)
        # Outcomes that go along with the next batch, and nobody waits for yet.
        self._soon: dict[TaskId, Slip] = {}
        self._settling: dict[TaskId, trio.Event] = {}
        self._closed = False

    @property
    def state(self) -> JournalState:
        """What the journal says now: a copy of all of it. For one thing, ask for that alone."""
        return self._tally.state()

    @property
    def agents(self) -> Mapping[ThreadId, AgentEdge]:
        """Agents that were made and not closed, oldest first. Changes as the journal does."""
        return MappingProxyType(self._tally.agents)

    @property
    def closed(self) -> Mapping[ThreadId, AgentEdge]:
        """Agents that were closed. Changes as the journal does."""
        return MappingProxyType(self._tally.closed)

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """A task as it stands; None if it was never assigned."""
        return self._tally.tasks.get(task_id)

    def unsettled(self) -> tuple[TaskRecord, ...]:
        """Tasks that have no outcome yet, oldest first."""
        return self._tally.unsettled()

    def letters(self, thread_id: ThreadId) -> tuple[PostedLetter, ...]:
        """Letters that wait for an agent, oldest first."""
        return self._tally.letters_of(thread_id)

    def news(self, thread_id: ThreadId) -> tuple[TaskRecord, ...]:
        """Tasks that ended, and the agent has not read that it was to be told of it."""
        return self._tally.news_of(thread_id)

    def waits(self, mail_id: LetterId | TaskId) -> bool:
        """Whether a letter, or the end of a task, waits to be delivered."""
        return self._tally.waits(mail_id)

    async def create_agent(self, edge: AgentEdge) -> None:
        """Write down that an agent is made, before it is.

        Raises:
            JournalError: if the disk refuses; then the agent must not be made.

        Cancellation: it is written or not, never by halves.
        """
        await self._enter(AgentCreated(edge))

    async def create_agents(self, edges: Iterable[AgentEdge]) -> None:
        """Write down, all at once, that agents are made, before they are.

        Raises:
            JournalError: if the disk refuses; then none of them must be made.

        Cancellation: all are written or none.
        """
        await self._enter_all([AgentCreated(edge) for edge in edges])

    async def close_agent(self, thread_id: ThreadId, reason: CloseReason = "closed") -> None:
        """Write down that an agent is closed: it is not resumed with its tree.

        Letters that wait for it are not delivered any more. Closing it again changes nothing.

        Raises:
            JournalError: if the disk refuses.

        Cancellation: it is written or not, never by halves.
        """
        await self.close_agents((thread_id,), reason)

    async def close_agents(
        self, thread_ids: Iterable[ThreadId], reason: CloseReason = "closed"
    ) -> None:
        """Write down, all at once, that agents are closed; see `close_agent`.

        Raises:
            JournalError: if the disk refuses; then none of them is closed.

        Cancellation: all are written or none.
        """
        fresh = [name for name in thread_ids if name not in self._tally.closed]
        await self._enter_all([AgentClosed(name, reason) for name in fresh])

    async def post(self, letter: PostedLetter) -> None:
        """Write down that an agent wrote to another; only then is the letter on its way.

        Raises:
            JournalError: if the disk refuses; then there is no letter.

        Cancellation: it is written or not, never by halves.
        """
        await self._enter(LetterPosted(letter))

    async def deliver(
        self,
        thread_id: ThreadId,
        mail_ids: Iterable[LetterId | TaskId],
        turn_id: str | None = None,
    ) -> None:
        """Write down that letters are in the history of the agent that they were for.

        Those that are not waiting any more are passed over.

        Args:
            thread_id: The receiver.
            mail_ids: Its letters, and tasks whose ends it was told of.
            turn_id: The turn that read them, if that is known.

        Raises:
            JournalError: if the disk refuses; then they are still waiting.

        Cancellation: it is written or not, never by halves.
        """
        waiting = tuple([name for name in mail_ids if self._tally.waits(name)])
        await self._enter_all([LettersDelivered(waiting, thread_id, turn_id)] if waiting else [])

    async def assign(self, record: TaskRecord) -> None:
        """Write down that an agent is given work, before it is.

        Raises:
            JournalError: if the disk refuses, or the task's id is taken; then it must not be
                given.

        Cancellation: it is written or not, never by halves.
        """
        if record.id in self._tally.tasks:
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
        [record] = await self.settle_many({task_id: outcome})
        return record

    async def settle_many(self, outcomes: Mapping[TaskId, TaskOutcome]) -> tuple[TaskRecord, ...]:
        """Write down in one write how tasks ended, and return their records in that order.

        Of each task the first outcome counts, as with `settle`.

        Raises:
            UnknownTask: if one was never assigned; then none is settled by this.
            JournalError: if the disk refuses; then none is settled by this.

        Cancellation: all are written or none.
        """
        while writing := [self._settling[name] for name in outcomes if name in self._settling]:
            for written in writing:
                await written.wait()
        for task_id in outcomes:
            if task_id not in self._tally.tasks:
                raise UnknownTask(task_id)
        await self._settle(
            {
                task_id: outcome
                for task_id, outcome in outcomes.items()
                if self._tally.tasks[task_id].outcome is None
            }
        )
        return tuple([self._tally.tasks[task_id] for task_id in outcomes])

    def settle_soon(self, task_id: TaskId, outcome: TaskOutcome) -> None:
        """Have the next batch of the clerk, whoever asks for it, settle a task.

        Whether it did, `settle` tells, and tries again if the disk refused. Not a checkpoint.
        """
        known = self._tally.tasks.get(task_id)
        if known is None or known.outcome is not None or task_id in self._settling:
            return
        if self._on_disk and task_id not in self._soon and not self._closed:
            self._soon[task_id] = self._put(TaskSettled(task_id, outcome, time_stamp(self._now())))

    def settle_late(self, task_id: TaskId, outcome: TaskOutcome) -> TaskRecord:
        """Settle a task as soon as the disk takes that, and return its record as it will be.

        For a task whose end the disk refused to hold, and which is told all the same. Not a
        checkpoint.
        """
        stamp = time_stamp(self._now())
        self._put_late(TaskSettled(task_id, outcome, stamp))
        return attrs.evolve(self._tally.tasks[task_id], outcome=outcome, settled_at=stamp)

    def close_late(self, thread_ids: Iterable[ThreadId], reason: CloseReason) -> None:
        """Close agents as soon as the disk takes that, whatever else is written. Not a checkpoint.

        For agents that are gone, whether the disk holds it or not.
        """
        for name in thread_ids:
            if name in self._tally.agents:
                self._put_late(AgentClosed(name, reason))

    async def catch_up(self) -> None:
        """Have written what is late, if the disk takes it.

        Cancellation: it stays late, and goes along with the next entry.
        """
        await self._tray.catch_up()

    async def aclose(self) -> None:
        """Take no more entries.

        Cancellation: what is late is lost; every other entry was handed to the kernel when it
            was made.
        """
        self._closed = True
        await self._tray.aclose()

    async def _settle(self, outcomes: Mapping[TaskId, TaskOutcome]) -> None:
        stamp = time_stamp(self._now())
        written = trio.Event()
        self._settling.update(dict.fromkeys(outcomes, written))
        try:
            for slip in [self._soon[name] for name in outcomes if name in self._soon]:
                await self._tray.finish(slip)
            await self._enter_all(
                [
                    TaskSettled(task_id, outcome, stamp)
                    for task_id, outcome in outcomes.items()
                    if self._tally.tasks[task_id].outcome is None
                ]
            )
        finally:
            for task_id in outcomes:
                self._soon.pop(task_id, None)
                del self._settling[task_id]
            written.set()

    async def _enter_all(self, entries: Sequence[Entry]) -> None:
        match entries:
            case []:
                await trio.lowlevel.checkpoint()
            case [entry]:
                await self._enter(entry)
            case _:
                await self._enter(Together(tuple(entries)))

    async def _enter(self, entry: Entry) -> None:
        await self._tray.finish(self._put(entry))

    def _put(self, entry: Entry) -> Slip:
        slip = self._slip(entry)
        self._tray.put(slip)
        return slip

    def _put_late(self, entry: Entry) -> None:
        self._tray.put_late(self._slip(entry))

    def _slip(self, entry: Entry) -> Slip:
        return Slip(entry, encode_entry(entry, time_stamp(self._now())))

    def _note(self, slip: Slip) -> None:
        entry = slip.entry
        if isinstance(entry, TaskSettled):
            self._soon.pop(entry.task_id, None)
        if slip.refused is None:
            self._tally.add(entry)


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
