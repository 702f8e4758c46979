"""A tree of agents, as programs hold it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import final

import attrs
import trio

from ..actors import Broadcast, Lagged, Supervisor, Watch
from ..protocol import (
    AgentStatus,
    Event,
    Settings,
    Spent,
    TaskRecord,
    ThreadId,
)
from ..rollout import time_stamp
from ._agent import start_actor
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk
from ._errors import NoSuchAgent, RootExists
from ._handle import AgentHandle
from ._overrides import apply_overrides, check_sandbox
from ._plan import edge_of
from ._resume import revive
from ._services import AgentServices
from ._spawn import add_desk, make_desk, remove_desk, root_settings
from ._spec import AgentSpec
from ._task import Task
from ._waiting import wait_all, wait_any


@final
@attrs.frozen(kw_only=True)
class AgentSnapshot:
    """One agent, for people to look at."""

    path: str
    thread_id: str
    role: str | None
    status: AgentStatus
    task: str | None
    """What it works on, in the words of whoever gave it."""
    running_tools: tuple[str, ...]
    total_tokens: int
    """Of its own thread, over all processes."""
    spent: Spent
    """What it and those below it have used since this process has them."""
    seconds: float
    """How long its own turns have run in this process."""
    letters: int
    """Mail that it has not read."""


@final
@attrs.define(eq=False, kw_only=True)
class AgentTree:
    """A root agent and all below it. Made by `open_agents`."""

    _commons: Commons
    _supervisor: Supervisor
    _broadcast: Broadcast[Event]
    _unfinished: tuple[Task, ...] = ()

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

    async def spawn(self, spec: AgentSpec = AgentSpec()) -> AgentHandle:
        """Start the tree's root agent; with ``spec.resume``, and all that was below it.

        Raises:
            RootExists: if the tree has its root.
            SandboxUnavailable: if its commands cannot be confined as they should be.
            ThreadNotFound: if ``spec.resume`` names no thread.
            ThreadBusy: if another program is at work on that thread.
            JournalError: if the disk refuses to hold the journal.
            DeadlinePassed: if that takes longer than `Deadlines.spawn`.

        Cancellation: no agent was started.
        """
        commons = self._commons
        if commons.desks:
            raise RootExists
        settings = apply_overrides(commons.settings, spec.overrides)
        if spec.instructions is not None:
            settings = attrs.evolve(settings, developer_instructions=spec.instructions)
        check_sandbox(settings.sandbox_policy)
        path, spec = root_settings(commons, spec)
        desk = make_desk(commons, None, path, spec, settings)
        add_desk(commons, desk)
        started = False
        try:
            with within(settings.deadlines.spawn, f"the start of {path}", lambda: "it was undone"):
                await self._start_root(desk, spec)
                started = True
        finally:
            if not started:
                for gone in list(desk.subtree()):
                    remove_desk(commons, gone)
        return AgentHandle(commons, desk, self._supervisor)

    async def _start_root(self, desk: Desk, spec: AgentSpec) -> None:
        commons = self._commons
        home = None if spec.resume is None else commons.settings.home
        await commons.books.open(desk.thread_id, found_in=home)
        warnings: tuple[str, ...] = ()
        if spec.resume is not None:
            revived = await revive(commons, desk, spec)
            self._unfinished, warnings = revived.unfinished, revived.warnings
        await commons.books.enter(edge_of(desk, time_stamp(commons.services.now())))
        await start_actor(commons, desk, self._supervisor)
        for warning in warnings:
            commons.hub.warn(desk.thread_id, desk.path, warning)

    def agent(self, name: str) -> AgentHandle:
        """Find an agent by its path or its thread id.

        Raises:
            NoSuchAgent: if there is none.
        """
        desk = self._commons.desks.get(ThreadId(name))
        if desk is None:
            found = (d for d in self._commons.desks.values() if d.path.text == name)
            desk = next(found, None)
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
        about the tasks. Inside a tool, use `AgentHandle.wait_any`.

        Cancellation: ends the waiting; the tasks go on.
        """
        return await wait_any(self._commons, tasks)

    async def wait_all(self, tasks: Sequence[Task]) -> tuple[TaskRecord, ...]:
        """Return the records of the tasks, in their order, when all have ended.

        Inside a tool, use `AgentHandle.wait_all`.

        Cancellation: ends the waiting; the tasks go on.
        """
        return await wait_all(tasks)

    def snapshot(self) -> tuple[AgentSnapshot, ...]:
        """Every agent and what it is doing, owners before those they own."""
        desks = self._commons.desks.values()
        roots = (desk for desk in desks if desk.parent is None)
        return tuple(map(self._snapshot, (d for root in roots for d in root.subtree())))

    def _snapshot(self, desk: Desk) -> AgentSnapshot:
        calls = None if desk.run is None else desk.run.turn.calls
        journal = self._commons.books.journal
        task = None if desk.task_id is None else journal.task(desk.task_id)
        return AgentSnapshot(
            path=desk.path.text,
            thread_id=desk.thread_id,
            role=None if desk.spec.role is None else desk.spec.role.name,
            status=self.status(desk.thread_id).get(),
            task=None if task is None else task.text,
            running_tools=() if calls is None else tuple(map(calls.tool, calls.running)),
            total_tokens=desk.tokens.total_token_usage.total_tokens,
            spent=desk.account.spent(trio.current_time()),
            seconds=desk.seconds,
            letters=len(desk.box),
        )
