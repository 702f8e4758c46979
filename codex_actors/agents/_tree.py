"""A tree of agents, as programs hold it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import final

import attrs
import trio

from ..actors import Broadcast, Lagged, Supervisor, SupervisorClosing, Watch
from ..protocol import (
    AgentStatus,
    ApprovalDecision,
    ApprovalRequest,
    Event,
    Settings,
    TaskRecord,
    ThreadId,
    TokenUsage,
)
from ._commons import Commons
from ._desk import Desk
from ._errors import NoSuchAgent, RootExists
from ._handle import AgentHandle
from ._root import spawn_root
from ._services import AgentServices
from ._snapshot import AgentSnapshot, snapshots
from ._spec import AgentSpec
from ._task import Task
from ._totals import total_usage
from ._waiting import wait_all, wait_any


@final
@attrs.define(eq=False, kw_only=True)
class AgentTree:
    """A root agent and all below it. Made by `open_agents`."""

    _commons: Commons
    _supervisor: Supervisor
    _broadcast: Broadcast[Event]
    _unfinished: tuple[Task, ...] = ()
    _restarted: tuple[Task, ...] = ()

    @property
    def settings(self) -> Settings:
        """What the tree was opened with."""
        return self._commons.settings

    @property
    def services(self) -> AgentServices:
        """What its agents have from outside."""
        return self._commons.services

    @property
    def unfinished(self) -> tuple[Task, ...]:
        """Tasks that an earlier process left open, and that nobody has taken up.

        See `Task.restart` and `Task.drop`. The tree's end settles them as interrupted.
        """
        open_ones = (task for task in self._unfinished if task.record.get().outcome is None)
        return tuple(task for task in open_ones if not task.queued)

    @property
    def restarted(self) -> tuple[Task, ...]:
        """Tasks that an earlier process left open, and that are run again as the spec said."""
        return self._restarted

    @property
    def usage(self) -> TokenUsage:
        """The tokens of all threads of the tree, over all processes. A snapshot.

        Those of agents that were closed count, too. `AgentHandle.usage` is one thread's.
        """
        return total_usage(self._commons)

    async def spawn(self, spec: AgentSpec = AgentSpec()) -> AgentHandle:
        """Start the tree's root agent; with ``spec.resume``, and all that was below it.

        Raises:
            RootExists: if the tree has its root.
            SupervisorClosing: if the tree has ended, or ends.
            SpawnRefused: if its role cannot be had; the subclass says why.
            SandboxUnavailable: if its commands cannot be confined as they should be.
            ThreadNotFound: if ``spec.resume`` names no thread.
            ThreadBusy: if another program is at work on that thread.
            JournalError: if the disk refuses to hold the journal.
            DeadlinePassed: if that takes longer than `Deadlines.spawn`.

        Cancellation: no agent was started.
        """
        if self._commons.closing:
            raise SupervisorClosing("")
        if self._commons.desks:
            raise RootExists
        root = await spawn_root(self._commons, self._supervisor, spec)
        self._unfinished = root.revived.unfinished
        self._restarted = root.revived.restarted
        return AgentHandle(self._commons, root.desk, self._supervisor)

    def agent(self, name: str) -> AgentHandle:
        """Find an agent by its path or its thread id.

        Raises:
            NoSuchAgent: if there is none.
        """
        desk = self._commons.desks.get(ThreadId(name)) or self._find(name)
        if desk is None:
            raise NoSuchAgent(name)
        return AgentHandle(self._commons, desk, self._supervisor)

    def events(
        self, max_buffer_size: float = 1024
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[Event | Lagged]]:
        """Follow all agents from now on: ``async with tree.events() as events``.

        Args:
            max_buffer_size: Events that may wait unread. Who is slower finds a
                `codex_actors.actors.Lagged` in the place of what was lost; the rollouts
                have it, and `snapshot` says where things stand.
        """
        return self._broadcast.subscribe(max_buffer_size)

    def status(self, thread_id: ThreadId) -> Watch[AgentStatus]:
        """What an agent is doing."""
        return self._commons.hub.status(thread_id)

    async def wait_any(self, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
        """Return the records of all tasks that have ended, as soon as there is one.

        It does not matter when they ended. To wait no longer than so many seconds, use
        `trio.move_on_after`, and read `Task.progress`: that time is over says nothing
        about the tasks. Of no tasks there are no records, at once. Inside a tool, use
        `AgentHandle.wait_any`.

        Cancellation: ends the waiting; the tasks go on.
        """
        return await wait_any(self._commons, [task.record for task in tasks])

    async def wait_all(self, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
        """Return the records of the tasks, in their order, when all have ended.

        Inside a tool it waits on behalf of the tool's agent, as `Task.wait` does.

        Raises:
            WaitRing: inside a tool, if agents would wait for each other for ever.

        Cancellation: ends the waiting; the tasks go on.
        """
        return await wait_all(self._commons, [task.record for task in tasks])

    @property
    def questions(self) -> Watch[tuple[ApprovalRequest, ...]]:
        """What agents of the tree wait to be allowed, in the order in which it was asked.

        A question is in it exactly while its asker waits. Whoever looks may `answer`.
        """
        return self._commons.approvals.inbox.questions

    def answer(self, request_id: str, decision: ApprovalDecision) -> None:
        """Answer an open question, whoever was asked; the first answer holds. Not a checkpoint.

        Raises:
            codex_actors.approvals.NotAsked: if nobody waits for the answer: there is no such
                question, it was answered, its time is over, or its turn has ended.
        """
        self._commons.approvals.inbox.answer(request_id, decision)

    def snapshot(self) -> tuple[AgentSnapshot, ...]:
        """Every agent and what it is doing, owners before those they own."""
        return snapshots(self._commons)

    def _find(self, path: str) -> Desk | None:
        desk = next(iter(self._commons.desks.values()), None)  # the root
        for name in path.split("/")[2:]:
            desk = None if desk is None else desk.children.get(name)
        return None if desk is None or desk.path.text != path else desk
