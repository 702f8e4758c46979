"""An agent: an actor that talks to a model on behalf of a thread.

Two tasks live in its scope. The *reader* awaits the mailbox and nothing else; it reaches
a running turn without waiting. The *driver* runs turns, one after another, and does all
the waiting. A turn's end is the driver's return value, never a message to itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, assert_never, final

import attrs
import trio

from ..actors import Behavior, Mailbox
from ..core import Entry, Phase, Steered, Turn, decide_steer
from ..protocol import (
    Accepted,
    InjectItems,
    Interrupt,
    OverrideSettings,
    Refused,
    RunUserShellCommand,
    Shutdown,
    ShutdownCompleted,
    Steer,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    UnknownOp,
    UserTurn,
    Verdict,
    WarningRaised,
)
from ..sandbox import open_processes
from ..tools import ExecSessions, open_exec_sessions
from ._desk import Desk, Envelope, Work
from ._guides import knows_guides, look_up_guides
from ._overrides import apply_overrides
from ._runner import TurnRun
from ._setup import set_up_turn
from ._thread import Thread
from ._user_shell import UserShell


@final
@attrs.frozen(kw_only=True)
class AgentWorld:
    """What an agent gets from its tree."""

    desk: Desk
    load: Callable[[], Awaitable[Thread]]
    """Makes the thread: new, or from its rollout after a restart."""
    settle: Callable[[Work, TaskOutcome], Awaitable[str | None]]
    """Writes down how a turn's task ended, and tells; returns what the disk had against it."""
    settle_soon: Callable[[Work, TaskOutcome], None]
    """Has that written with the turn's last lines; `tell` or `settle` is still to be called."""
    tell: Callable[[Work], bool]
    """Tells how a turn's task ended, if that is written already; whether it is."""
    records: Path | None
    """Where running processes are noted, for whoever finds them after a kill -9."""


SETTLING: Final = 5.0
"""Seconds that writing down a task's end may take when the agent is being cancelled."""

BROKEN_OFF: Final = TaskFailed("the agent ended before its turn did", "internal_server_error")


def outcome_of(turn: Turn) -> TaskOutcome:
    """Return how a turn ended, as the outcome of its task."""
    match turn.phase:
        case Phase.DONE if turn.error is None:
            return TaskCompleted(turn.last_agent_message)
        case Phase.DONE:
            assert turn.error is not None
            kind = "other" if turn.error.info is None else turn.error.info.kind
            return TaskFailed(turn.error.message, kind)
        case Phase.ABORTED:
            return TaskInterrupted(turn.interrupted_by or "user")
        case _:
            return BROKEN_OFF


def agent(world: AgentWorld) -> Behavior[Envelope]:
    """Return the behavior of one agent."""

    async def behave(mailbox: Mailbox[Envelope], *, task_status: trio.TaskStatus[None]) -> None:
        thread = await world.load()
        async with (
            open_processes(records=world.records) as processes,
            open_exec_sessions(processes) as sessions,
            trio.open_nursery() as home,
        ):
            shell = UserShell(thread=thread, processes=processes, running=world.desk.shells)
            living = _Agent(world, thread, sessions, shell, home, mailbox)
            home.start_soon(living.drive, name=f"driver of {world.desk.path}")
            task_status.started()
            await living.read(mailbox)
        thread.announce(ShutdownCompleted())
        thread.sync()
        await thread.settle()

    return behave


@final
@attrs.define(eq=False)
class _Agent:
    """One incarnation of an agent."""

    world: AgentWorld
    thread: Thread
    sessions: ExecSessions
    shell: UserShell
    home: trio.Nursery
    mailbox: Mailbox[Envelope]

    @property
    def desk(self) -> Desk:
        return self.world.desk

    # --- the reader ---

    async def read(self, mailbox: Mailbox[Envelope]) -> None:
        """Answer submissions until the agent is to end, then end the running turn."""
        async for envelope in mailbox:
            envelope.reply.send(self._handle(envelope))
            if isinstance(envelope.submission.op, Shutdown):
                break
        self.desk.close()

    def _handle(self, envelope: Envelope) -> Verdict:
        op = envelope.submission.op
        match op:
            case UserTurn():
                return self._start_or_steer(envelope, op)
            case Steer():
                return self._steer(envelope, op.expected_turn_id)
            case OverrideSettings(overrides):
                self.desk.settings = apply_overrides(self.desk.settings, overrides)
                return Accepted()
            case InjectItems(items):
                return self._inject(tuple(map(Entry, items)))
            case RunUserShellCommand(command):
                return self._run_command(envelope.submission.id, command)
            case Interrupt(by):
                self.desk.interrupt(by)
                return Accepted(turn_id=self._turn_id)
            case Shutdown():
                return Accepted()
            case UnknownOp(kind):
                return Refused("unknown_op", f"this version knows no operation {kind!r}")
            case _:
                assert_never(op)

    @property
    def _turn_id(self) -> str | None:
        return None if self.desk.run is None else self.desk.run.turn.id

    @property
    def _stopping(self) -> bool:
        return self.desk.run is not None and self.desk.run.stopping

    def _start_or_steer(self, envelope: Envelope, op: UserTurn) -> Verdict:
        busy = self._turn_id is not None and not self._stopping
        if envelope.task_id is not None or not busy:
            turn_id = envelope.submission.id
            work = Work(turn_id=turn_id, op=op, entries=envelope.entries, task_id=envelope.task_id)
            self.desk.put(work)
            return Accepted(turn_id=turn_id)
        if op.output_schema is not None and op.output_schema != self.desk.output_schema:
            return Refused(
                "schema_mismatch",
                f"turn {self._turn_id!r} answers in another form; wait for its end",
            )
        return self._steer(envelope, None)

    def _steer(self, envelope: Envelope, expected: str | None) -> Verdict:
        refused = decide_steer(
            active_turn_id=self._turn_id,
            expected_turn_id=expected,
            stopping=self._stopping,
            empty=not envelope.entries,
        )
        if refused is not None:
            return refused
        assert self.desk.run is not None
        self.desk.run.post(Steered(envelope.entries))
        return Accepted(turn_id=self._turn_id, steered=True)

    def _inject(self, entries: tuple[Entry, ...]) -> Verdict:
        if self.desk.run is not None:
            self.desk.run.post(Steered(entries))
        else:
            for entry in entries:
                self.thread.record(entry, "")
        return Accepted(turn_id=self._turn_id)

    def _run_command(self, turn_id: str, command: str) -> Verdict:
        if self._turn_id is None:
            work = Work(turn_id=turn_id, op=UserTurn(items=()), entries=(), shell=command)
            self.desk.put(work)
            return Accepted(turn_id=turn_id)
        self.home.start_soon(self._run_beside, command, self._turn_id, name="user's command")
        return Accepted(turn_id=self._turn_id)

    async def _run_beside(self, command: str, turn_id: str) -> None:
        ran = await self.shell.run(command, turn_id)
        self._inject((Entry(ran.message),))

    # --- the driver ---

    async def drive(self) -> None:
        """Run turns until the desk is closed."""
        try:
            while True:
                await self._run(await self._next())
        except trio.EndOfChannel:
            pass

    async def _next(self) -> Work:
        """Take the next turn, once it is known what people wrote for agents in its directory.

        Until then it waits where an interrupt finds it.
        """
        while True:
            work = await self.desk.wait()
            settings = apply_overrides(self.desk.settings, work.op.overrides)
            if knows_guides(self.thread, settings):
                return self.desk.take()
            await look_up_guides(self.thread, settings)

    async def _run(self, work: Work) -> None:
        desk = self.desk
        by = desk.withdrawn.pop(work.turn_id, None)
        if by is not None:
            await self._settle(work, TaskInterrupted(by))
            desk.rest()
            return
        desk.task_id, desk.output_schema = work.task_id, work.op.output_schema
        desk.settings = apply_overrides(desk.settings, work.op.overrides)
        self.thread.settings = desk.settings
        self.thread.submission = work.turn_id
        if work.shell is not None:
            await self._run_alone(work.turn_id, work.shell)
            return
        try:
            turn, setup = set_up_turn(work, self.thread, self.sessions)
            desk.run = TurnRun(turn, self.thread, setup, partial(self._ending, work))
            await desk.run.run(self.home)
        finally:
            await self._conclude(work, desk.run)

    async def _run_alone(self, turn_id: str, command: str) -> None:
        """Run a turn that consists of a command of the user's."""
        thread, began_at = self.thread, self.thread.services.now()
        thread.tell(TurnStarted(turn_id=turn_id, started_at=int(began_at)))
        try:
            ran = await self.shell.run(command, turn_id)
            thread.record(Entry(ran.message), turn_id)
            thread.announce(_ending(turn_id, ran.aborted_by, began_at, thread.services.now()))
            thread.sync()
            await thread.settle()
        finally:
            self.desk.rest()

    async def _conclude(self, work: Work, run: TurnRun | None) -> None:
        """Write down how a turn ended, however that was, and take up what came too late."""
        self.desk.tokens = self.thread.tokens
        await self._settle(work, BROKEN_OFF if run is None else outcome_of(run.turn))
        leftover = () if run is None else run.leftover()
        self.desk.rest()
        if run is not None and run.turn.phase is Phase.DONE:
            self.mailbox.progressed()
        self._keep(leftover)

    def _ending(self, work: Work, turn: Turn) -> None:
        self.world.settle_soon(work, outcome_of(turn))

    async def _settle(self, work: Work, outcome: TaskOutcome) -> None:
        if self.world.tell(work):
            return
        with trio.move_on_after(SETTLING, shield=True):
            problem = await self.world.settle(work, outcome)
            if problem is not None:
                self.thread.tell(WarningRaised(problem))

    def _keep(self, entries: tuple[Entry, ...]) -> None:
        """Run a turn on input that was accepted in the moment its turn ended."""
        if entries:
            turn_id = self.thread.services.new_id()
            self.desk.put(Work(turn_id=turn_id, op=UserTurn(items=()), entries=entries))


def _ending(
    turn_id: str, aborted_by: str | None, began_at: float, now: float
) -> TurnCompleted | TurnAborted:
    """Return how a turn ended that was only a command."""
    ended: TurnCompleted | TurnAborted = TurnCompleted(turn_id=turn_id, last_agent_message=None)
    if aborted_by is not None:
        ended = TurnAborted(turn_id=turn_id, reason="interrupted", interrupted_by=aborted_by)
    return attrs.evolve(
        ended,
        started_at=int(began_at),
        completed_at=int(now),
        duration_ms=int((now - began_at) * 1000),
    )
