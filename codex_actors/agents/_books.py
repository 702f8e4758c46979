"""The tree's books: who was made, what was assigned, how it ended; and who is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, final

import attrs
import trio

from ..actors import WatchCell
from ..protocol import (
    AgentPath,
    Generation,
    LetterId,
    TaskId,
    TaskInterrupted,
    TaskOutcome,
    TaskRecord,
    TextInput,
    ThreadId,
    UserInput,
    WarningRaised,
)
from ..rollout import (
    AgentEdge,
    Clerk,
    CloseReason,
    Journal,
    JournalError,
    JournalRefused,
    RolloutStore,
    open_journal,
    open_lock,
    read_meta,
    time_stamp,
)
from ._deadlines import settling
from ._desk import Desk
from ._feed import TaskFeed
from ._hub import Hub
from ._services import AgentServices
from ._thread import Thread, flush_together


@final
@attrs.frozen
class Ended:
    """A turn that is over, and whose end is not written down."""

    thread: Thread
    task_id: TaskId | None
    """Its task's; None: it has none, or that stays open."""
    outcome: TaskOutcome
    """How the task ended."""


_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
"""What a thread may be called: a damaged rollout may name anything, and files are called so."""


@final
@attrs.frozen
class Concluded:
    """A turn whose end is written down, and not yet told."""

    hub: Hub
    thread: Thread
    record: TaskRecord | None

    def tell(self) -> None:
        """Tell of the turn's end, then of its task's. Not a checkpoint."""
        self.thread.release()
        if self.record is not None:
            self.hub.settle(self.record)


@final
@attrs.define(eq=False)
class Books:
    """Writes down before it is acted on, and tells after it is written."""

    home: str | None
    clerk: Clerk
    """Who writes the journal; the rollouts of the tree as well."""
    hub: Hub
    services: AgentServices
    _stack: AsyncExitStack
    """Holds the journal open until the tree has ended."""
    _journal: Journal | None = None
    _root: ThreadId | None = None
    """Whose journal it is."""
    _late: dict[TaskId, TaskRecord] = attrs.field(factory=dict)
    """Tasks whose ends were told while the disk refused to hold them; the journal goes on trying."""

    @property
    def journal(self) -> Journal:
        """The journal; there is one from the root on."""
        assert self._journal is not None, "an agent was there before the root"
        return self._journal

    def knows(self, task_id: TaskId) -> bool:
        """Whether the journal has the task."""
        return self._journal is not None and self._journal.task(task_id) is not None

    async def open(self, root: ThreadId, *, found_in: str | None) -> None:
        """Open the journal of the tree with this root.

        Args:
            root: Its thread id.
            found_in: The home that the thread must be found in, if it is resumed.

        Raises:
            JournalError: if the disk refuses.
            ThreadBusy: if another program is at work on the tree.
            ThreadNotFound: if it is to be resumed, and there is no such thread; then
                nothing is written.
        """
        if self.services.journal is not None:
            self._journal = self.services.journal
            await trio.lowlevel.checkpoint()
            return
        owner = None if found_in is None else await _tree_of(found_in, root)
        if self._root == root:  # it was opened before, for a root that ended or never began
            await trio.lowlevel.checkpoint()
            return
        async with AsyncExitStack() as opened:
            if owner is not None and owner not in (root, self._root):
                # A thread of another tree: nobody else may be writing it.
                await opened.enter_async_context(open_lock(self.home, owner))
            await opened.enter_async_context(open_lock(self.home, root))
            opening = open_journal(self.home, root, clerk=self.clerk, now=self.services.now)
            self._journal = await opened.enter_async_context(opening)
            self._root = root
            self._stack.push_async_callback(opened.pop_all().aclose)

    async def enter(self, edge: AgentEdge) -> None:
        """Write down that an agent is made, unless that is known.

        Raises:
            JournalError: if the disk refuses.

        Cancellation: it may be written; then `leave` takes it back.
        """
        if edge.thread_id in self.journal.agents:
            await trio.lowlevel.checkpoint()
        else:
            await self.journal.create_agent(edge)

    def leave(self, thread_ids: Iterable[ThreadId], reason: CloseReason) -> None:
        """Write down that agents are no more, before whatever is written next.

        A disk that refuses holds it later. Not a checkpoint: their names are free from here on.
        """
        self.journal.close_late(thread_ids, reason)

    async def catch_up(self) -> None:
        """Have written what is late, if the disk takes it."""
        await self.journal.catch_up()

    async def assign(
        self,
        desk: Desk,
        items: tuple[UserInput, ...],
        *,
        assigned_by: AgentPath | None = None,
        reply_to: ThreadId | None = None,
        generation: Generation | None = None,
    ) -> TaskFeed:
        """Write down a task, and return where its events will be.

        Raises:
            JournalError: if the disk refuses; then there is no task.

        Cancellation: there is none, or it has ended as interrupted: nobody hands it on.
        """
        name = self.services.new_id()
        record = TaskRecord(
            id=TaskId(name),
            thread_id=desk.thread_id,
            path=desk.path,
            text="\n".join(i.text for i in items if isinstance(i, TextInput)),
            assigned_at=time_stamp(self.services.now()),
            turn_id=name,
            assigned_by=assigned_by,
            reply_to=reply_to,
            generation=generation,
        )
        feed = TaskFeed(record.id, desk.thread_id, WatchCell(record))
        given = False
        try:
            await self.journal.assign(record)
            given = True
        finally:
            # Somebody else's batch may have taken it along when its giver was cancelled.
            if not given and self.journal.task(record.id) is not None:
                giver = "user" if assigned_by is None else assigned_by.text
                with settling():
                    await self.settle(record.id, TaskInterrupted(giver))
        self.hub.add_feed(feed)
        return feed

    def take_up(self, record: TaskRecord) -> TaskFeed:
        """Return where the events of a task will be that an earlier process left unfinished."""
        feed = TaskFeed(record.id, record.thread_id, WatchCell(record))
        self.hub.add_feed(feed)
        return feed

    async def conclude(self, ended: Sequence[Ended]) -> Sequence[Concluded]:
        """Get the last lines of turns to the disk, and with them how their tasks ended.

        Cancellation: nothing is lost; the next call goes on.
        """
        for each in ended:
            if each.task_id is not None and each.task_id not in self._late:
                # Written with the turn's last lines, in one go; what follows only looks.
                self.journal.settle_soon(each.task_id, each.outcome)
        await flush_together([each.thread for each in ended])
        return [self._concluded(each) or await self._conclude_late(each) for each in ended]

    def _concluded(self, ended: Ended) -> Concluded | None:
        """Return what is written of a turn's end, if it is."""
        if ended.task_id is None:
            return Concluded(self.hub, ended.thread, None)
        record = self.journal.task(ended.task_id)
        if record is None or record.outcome is None:
            return None
        return Concluded(self.hub, ended.thread, record)

    async def _conclude_late(self, ended: Ended) -> Concluded:
        assert ended.task_id is not None
        record, problem = await self._write(ended.task_id, ended.outcome)
        if problem is not None:
            ended.thread.announce(WarningRaised(problem))
        return Concluded(self.hub, ended.thread, record)

    async def settle(self, task_id: TaskId, outcome: TaskOutcome) -> str | None:
        """Write down how a task ended, unless that is known, and tell.

        Returns:
            What the disk had against it, for people; None if all is written.
        """
        record, problem = await self._write(task_id, outcome)
        self.hub.settle(record)
        return problem

    async def settle_many(self, outcomes: Mapping[TaskId, TaskOutcome]) -> str | None:
        """Write down how tasks ended, all at once, and tell."""
        fresh = {name: outcome for name, outcome in outcomes.items() if name not in self._late}
        if not fresh or self._journal is None:
            await trio.lowlevel.checkpoint()
            return None
        records: Sequence[TaskRecord]
        problem = None
        try:
            records = await self._journal.settle_many(fresh)
        except JournalRefused as error:
            problem = str(error)
            records = [self._settle_late(name, outcome) for name, outcome in fresh.items()]
        for record in records:
            self.hub.settle(record)
        return problem

    async def settle_all(self, outcome: TaskOutcome) -> None:
        """Give every task that is still open the same outcome, and write what is late."""
        if self._journal is not None:
            await self.settle_many({record.id: outcome for record in self._journal.unsettled()})
            await self._journal.catch_up()

    async def settle_agents(self, thread_ids: Iterable[ThreadId], outcome: TaskOutcome) -> None:
        """Give every open task of these agents the same outcome."""
        gone = frozenset(thread_ids)
        await self.settle_many(
            {r.id: outcome for r in self.journal.unsettled() if r.thread_id in gone}
        )

    async def note_delivered(self, desk: Desk, mail_ids: Sequence[str], turn_id: str) -> None:
        """Write down which mail is in an agent's history.

        A disk that refuses changes nothing: the rollout, or its lines that wait, say it too.
        """
        for name in mail_ids:
            desk.box.pop(name, None)
        waiting = tuple(LetterId(n) for n in mail_ids if self.journal.waits(LetterId(n)))
        if not waiting:
            await trio.lowlevel.checkpoint()
            return
        try:
            await self.journal.deliver(desk.thread_id, waiting, turn_id)
        except JournalError as error:
            self.hub.warn(desk.thread_id, desk.path, str(error))

    async def _write(self, task_id: TaskId, outcome: TaskOutcome) -> tuple[TaskRecord, str | None]:
        """Write an outcome; a disk that refuses must not keep anybody waiting.

        It is told then all the same, and written with whatever the disk takes next.
        """
        if task_id in self._late:
            await trio.lowlevel.checkpoint()
            return self._late[task_id], None
        try:
            return await self.journal.settle(task_id, outcome), None
        except JournalRefused as error:
            return self._settle_late(task_id, outcome), str(error)

    def _settle_late(self, task_id: TaskId, outcome: TaskOutcome) -> TaskRecord:
        record = self._late[task_id] = self.journal.settle_late(task_id, outcome)
        return record


async def _tree_of(home: str, thread_id: ThreadId) -> ThreadId | None:
    """Return the root of the tree that a stored thread was made in, if it says that.

    Raises:
        ThreadNotFound: if there is no such thread.
    """
    path = await RolloutStore(home).find(thread_id)
    meta = await trio.to_thread.run_sync(read_meta, path, abandon_on_cancel=True)
    named = meta is not None and _ID.fullmatch(meta.session_id)
    return ThreadId(meta.session_id) if meta is not None and named else None
