"""A piece of work given to an agent, as whoever gave it sees it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import final

import attrs
import trio

from ..actors import Watch
from ..protocol import Event, TaskId, TaskInterrupted, TaskRecord, TextInput
from ._commons import Commons
from ._desk import Desk, Work
from ._feed import TaskFeed
from ._input import prepare_input
from ._waiting import wait_settled, waiting_here


@final
@attrs.frozen(kw_only=True)
class Progress:
    """What a task is at, for whoever wonders whether it still lives."""

    idle_seconds: float
    """Since the task's agent last said anything."""
    running_tools: tuple[str, ...]
    """Full names of the tools at work."""
    begun: bool
    """Whether its turn runs now; if not, it waits for one."""


@final
class Task:
    """One task. It ends in exactly one `codex_actors.protocol.TaskRecord` with an outcome."""

    def __init__(self, feed: TaskFeed, desk: Desk, commons: Commons) -> None:
        self._feed = feed
        self._desk = desk
        self._commons = commons

    def __repr__(self) -> str:
        record = self.record.get()
        return f"<Task {record.id} of {record.path}: {record.outcome or 'unsettled'}>"

    @property
    def id(self) -> TaskId:
        """The task's name in the journal."""
        return self._feed.task_id

    @property
    def record(self) -> Watch[TaskRecord]:
        """What is known of the task; its ``outcome`` is None until it ends."""
        return self._feed.record

    async def wait(self) -> TaskRecord:
        """Wait until the task has ended, and return how.

        It does not matter when you ask: a task that ended long ago answers at once.
        Failure and interruption are outcomes, not exceptions. Inside a tool it waits on behalf
        of the tool's agent: meanwhile the turn does not count among those that run.

        Raises:
            WaitRing: inside a tool, if agents would wait for each other for ever.

        Cancellation: ends the waiting; the task goes on.
        """
        async with waiting_here(self._commons, [self.record], every=True):
            return await wait_settled(self.record)

    def events(self) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[Event]]:
        """Follow the task: ``async with task.events() as events: async for event in events``.

        The channel has everything from the task's beginning, also what happened before
        you asked, and ends when the task does. What one reader took, another does not get;
        to watch all agents of a tree at once, subscribe to the tree.

        Cancellation: loses nothing.
        """
        return self._feed.open()

    def progress(self) -> Progress:
        """What the task is at. A snapshot, not a checkpoint."""
        run = self._desk.run if self._desk.task_id == self.id else None
        tools = () if run is None else tuple(map(run.turn.calls.tool, run.turn.calls.running))
        return Progress(
            idle_seconds=trio.current_time() - self._feed.last_at,
            running_tools=tools,
            begun=run is not None,
        )

    async def restart(self) -> None:
        """Run a task again that an earlier process left unfinished (`AgentTree.unfinished`).

        One that is queued, runs or has ended is left as it is.

        Cancellation: it may have been queued.
        """
        await trio.lowlevel.checkpoint()
        record = self.record.get()
        if record.outcome is not None or self.queued:
            return
        new_id = self._commons.services.new_id
        entries = await prepare_input((TextInput(record.text),), new_id=new_id)
        if not self.queued:
            work = Work(turn_id=new_id(), entries=entries, task_id=self.id, submission=self.id)
            self._commons.post.go_on(self._desk, work)

    async def drop(self) -> None:
        """Settle a task as interrupted that an earlier process left unfinished.

        One that is queued, runs or has ended is left as it is.

        Cancellation: it may have been settled.
        """
        if self.record.get().outcome is None and not self.queued:
            await self._commons.books.settle(self.id, TaskInterrupted("restart"))
        else:
            await trio.lowlevel.checkpoint()

    @property
    def queued(self) -> bool:
        """Whether its turn runs, or waits to be run."""
        desk = self._desk
        return desk.task_id == self.id or any(work.task_id == self.id for work in desk.queue)
