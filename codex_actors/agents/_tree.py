"""A tree of agents, and the scope it lives in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, final

import attrs
import trio

from ..actors import (
    ActorRef,
    ActorTerminated,
    Broadcast,
    ChildSpec,
    CloseReport,
    Exit,
    Lagged,
    ReplyPort,
    Supervisor,
    Watch,
)
from ..core import Entry
from ..protocol import (
    ROOT,
    AgentStatus,
    Event,
    InjectItems,
    Op,
    Overrides,
    OverrideSettings,
    RunUserShellCommand,
    Settings,
    Steer,
    Submission,
    TaskFailed,
    TaskId,
    TaskOutcome,
    ThreadId,
    UserInput,
    UserTurn,
    Verdict,
)
from ._agent import AgentWorld, agent
from ._books import Books
from ._desk import Desk, Envelope, Work
from ._errors import EmptyInput, NoSuchAgent, RootExists
from ._handle import AgentHandle
from ._input import prepare_input
from ._leftovers import records_folder
from ._overrides import apply_overrides, check_sandbox
from ._services import AgentServices
from ._spec import AgentSpec
from ._task import Task
from ._thread import Thread


@final
@attrs.frozen(kw_only=True)
class AgentSnapshot:
    """One agent, for people to look at."""

    path: str
    thread_id: str
    status: AgentStatus
    running_tools: tuple[str, ...]
    total_tokens: int


@final
@attrs.define(eq=False, kw_only=True)
class AgentTree:
    """A root agent and all below it. Made by `open_agents`."""

    settings: Settings
    services: AgentServices
    _books: Books
    _supervisor: Supervisor
    _broadcast: Broadcast[Event]
    _load: Callable[[Desk, AgentSpec], Awaitable[Thread]]
    _desks: dict[ThreadId, Desk] = attrs.field(factory=dict)
    _refs: dict[ThreadId, ActorRef[Envelope]] = attrs.field(factory=dict)

    async def spawn(self, spec: AgentSpec = AgentSpec()) -> AgentHandle:
        """Start the tree's root agent.

        Raises:
            RootExists: if the tree has its root.
            SandboxUnavailable: if its commands cannot be confined as they should be.
            ThreadNotFound: if ``spec.resume`` names no thread.
            ThreadBusy: if another program is at work on that thread.
            JournalError: if the disk refuses to hold the journal.

        Cancellation: no agent was started.
        """
        if self._desks:
            raise RootExists
        settings = apply_overrides(self.settings, spec.overrides)
        if spec.instructions is not None:
            settings = attrs.evolve(settings, developer_instructions=spec.instructions)
        check_sandbox(settings.sandbox_policy)
        thread_id = ThreadId(self.services.new_id() if spec.resume is None else spec.resume)
        desk = Desk(path=ROOT, thread_id=thread_id, settings=settings)
        return await self._start(desk, spec)

    def agent(self, name: str) -> AgentHandle:
        """Find an agent by its path or its thread id.

        Raises:
            NoSuchAgent: if there is none.
        """
        for desk in self._desks.values():
            if name in (desk.path.text, desk.thread_id):
                return AgentHandle(self, desk)
        raise NoSuchAgent(name)

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
        return self._books.hub.status(thread_id)

    def snapshot(self) -> tuple[AgentSnapshot, ...]:
        """Every agent and what it is doing, in the order they were made."""
        return tuple(map(self._snapshot, self._desks.values()))

    def _snapshot(self, desk: Desk) -> AgentSnapshot:
        calls = None if desk.run is None else desk.run.turn.calls
        return AgentSnapshot(
            path=desk.path.text,
            thread_id=desk.thread_id,
            status=self.status(desk.thread_id).get(),
            running_tools=() if calls is None else tuple(map(calls.tool, calls.running)),
            total_tokens=desk.tokens.total_token_usage.total_tokens,
        )

    async def _start(self, desk: Desk, spec: AgentSpec) -> AgentHandle:
        world = AgentWorld(
            desk=desk,
            load=partial(self._load, desk, spec),
            settle=self._settle,
            settle_soon=self._settle_soon,
            tell=self._tell,
            records=records_folder(self.settings),
        )
        child = ChildSpec(
            name=desk.path.name,
            behavior=agent(world),
            restart=spec.restart,
            grace=spec.grace,
            on_limit="end",
        )
        self._desks[desk.thread_id] = desk
        try:
            await self._books.enter(desk, resumed=spec.resume is not None)
            self._refs[desk.thread_id] = await self._supervisor.start(child)
        except BaseException:
            del self._desks[desk.thread_id]
            raise
        return AgentHandle(self, desk)

    # What handles ask for; `AgentHandle` documents it.

    async def assign(
        self, desk: Desk, items: tuple[UserInput, ...], overrides: Overrides, schema: Any
    ) -> Task:
        if isinstance(self._refs[desk.thread_id].status.get(), Exit):
            await trio.lowlevel.checkpoint()
            raise ActorTerminated(desk.path.text)
        op = UserTurn(items=items, overrides=overrides, output_schema=schema)
        entries = await self._prepare(op)
        feed = await self._books.assign(desk, items)
        try:
            await self._ask(desk, op, entries, feed.task_id)
        except ActorTerminated:
            await self._books.settle(feed.task_id, TaskFailed("the agent has ended"))
            raise
        return Task(feed, desk)

    async def submit(self, desk: Desk, op: Op) -> Verdict:
        return await self._ask(desk, op, await self._prepare(op), None)

    async def interrupt(self, desk: Desk, by: str) -> None:
        desk.interrupt(by)
        await desk.busy.wait_value(lambda busy: not busy)

    async def close(self, desk: Desk) -> CloseReport:
        return await self._supervisor.stop(self._refs[desk.thread_id])

    async def _ask(
        self, desk: Desk, op: Op, entries: tuple[Entry, ...], task_id: TaskId | None
    ) -> Verdict:
        submission = Submission(task_id or self.services.new_id(), op)

        def envelope(port: ReplyPort[Verdict]) -> Envelope:
            return Envelope(submission=submission, entries=entries, task_id=task_id, reply=port)

        return await self._refs[desk.thread_id].ask(envelope)

    async def _prepare(self, op: Op) -> tuple[Entry, ...]:
        match op:
            case UserTurn(items=items, overrides=overrides):
                if overrides.sandbox_policy is not None:
                    check_sandbox(overrides.sandbox_policy)
                return await prepare_input(items, new_id=self.services.new_id)
            case Steer(items=items):
                return await prepare_input(items, new_id=self.services.new_id)
            case OverrideSettings(overrides):
                if overrides.sandbox_policy is not None:
                    check_sandbox(overrides.sandbox_policy)
            case InjectItems(()):
                raise EmptyInput
            case RunUserShellCommand(command) if not command.strip():
                raise EmptyInput
            case _:
                pass
        await trio.lowlevel.checkpoint()
        return ()

    def _settle_soon(self, work: Work, outcome: TaskOutcome) -> None:
        if work.task_id is not None:
            self._books.settle_soon(work.task_id, outcome)

    def _tell(self, work: Work) -> bool:
        return work.task_id is None or self._books.tell(work.task_id)

    async def _settle(self, work: Work, outcome: TaskOutcome) -> str | None:
        if work.task_id is None:
            await trio.lowlevel.checkpoint()
            return None
        return await self._books.settle(work.task_id, outcome)
