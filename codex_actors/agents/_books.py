"""The tree's books: who was made, what was assigned, how it ended; and who is told."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import final

import attrs

from ..actors import WatchCell
from ..protocol import (
    TaskId,
    TaskInterrupted,
    TaskOutcome,
    TaskRecord,
    TextInput,
    UserInput,
)
from ..rollout import (
    AgentEdge,
    Clerk,
    Journal,
    JournalError,
    RolloutStore,
    open_journal,
    open_lock,
    time_stamp,
)
from ._desk import Desk
from ._feed import TaskFeed
from ._hub import Hub
from ._services import AgentServices


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
    _unwritten: dict[TaskId, TaskOutcome] = attrs.field(factory=dict)
    """Outcomes that were told while the disk refused to hold them."""

    @property
    def journal(self) -> Journal:
        """The journal; there is one from the root on."""
        assert self._journal is not None, "an agent was there before the root"
        return self._journal

    async def enter(self, desk: Desk, *, resumed: bool = False) -> None:
        """Write down that an agent is made. With the root, the journal is opened.

        Tasks that an earlier process left behind end as interrupted by the restart.

        Raises:
            JournalError: if the disk refuses.
            ThreadBusy: if another program is at work on the tree.
            ThreadNotFound: if it is to be resumed, and there is no such thread; then
                nothing is written.
        """
        if resumed:
            await RolloutStore(desk.settings.home).find(desk.thread_id)
        if self._journal is None:
            await self._stack.enter_async_context(open_lock(self.home, desk.thread_id))
            opening = open_journal(
                self.home, desk.thread_id, clerk=self.clerk, now=self.services.now
            )
            self._journal = await self._stack.enter_async_context(opening)
            await self.settle_all(TaskInterrupted("restart"))
        if desk.thread_id not in self.journal.state.agents:
            stamp = time_stamp(self.services.now())
            edge = AgentEdge(path=desk.path, thread_id=desk.thread_id, created_at=stamp)
            await self.journal.create_agent(edge)

    async def assign(self, desk: Desk, items: tuple[UserInput, ...]) -> TaskFeed:
        """Write down a task, and return where its events will be.

        Raises:
            JournalError: if the disk refuses; then there is no task.
        """
        name = self.services.new_id()
        record = TaskRecord(
            id=TaskId(name),
            thread_id=desk.thread_id,
            path=desk.path,
            text="\n".join(i.text for i in items if isinstance(i, TextInput)),
            assigned_at=time_stamp(self.services.now()),
            turn_id=name,
        )
        feed = TaskFeed(record.id, desk.thread_id, WatchCell(record))
        await self.journal.assign(record)
        self.hub.add_feed(feed)
        return feed

    def settle_soon(self, task_id: TaskId, outcome: TaskOutcome) -> None:
        """Have the outcome written with the next lines of a rollout; `settle` tells of it.

        Not a checkpoint.
        """
        self.journal.settle_soon(task_id, outcome)

    def tell(self, task_id: TaskId) -> bool:
        """Tell how a task ended, if that is written; whether it is. Not a checkpoint."""
        record = self.journal.task(task_id)
        if record is None or record.outcome is None or self._unwritten:
            return False
        self.hub.settle(record)
        return True

    async def settle(self, task_id: TaskId, outcome: TaskOutcome) -> str | None:
        """Write down how a task ended, unless that is known, and tell.

        A disk that refuses must not keep anybody waiting: the outcome is told, and written
        with the next one.

        Returns:
            What the disk had against it, for people; None if all is written.
        """
        outcome = self._unwritten.get(task_id, outcome)
        try:
            record = await self.journal.settle(task_id, outcome)
        except JournalError as error:
            self._unwritten[task_id] = outcome
            record = attrs.evolve(self.journal.state.tasks[task_id], outcome=outcome)
            self.hub.settle(record)
            return str(error)
        self._unwritten.pop(task_id, None)
        self.hub.settle(record)
        for late in tuple(self._unwritten):
            await self.settle(late, self._unwritten[late])
        return None

    async def settle_all(self, outcome: TaskOutcome) -> None:
        """Give every task that is still open the same outcome."""
        if self._journal is not None:
            for record in self._journal.state.unsettled:
                await self.settle(record.id, outcome)
