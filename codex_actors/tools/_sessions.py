"""The commands that an agent runs. One may outlive its call and its turn, never its agent."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVarTuple, final

import trio

from .._errors import CodexActorsError
from ..core import Permit
from ..protocol import DangerFullAccess, ReadOnly, WarningRaised
from ..sandbox import OutputSink, ProcessSpec, Sandbox, confine
from ._pruning import MANY_SESSIONS, MAX_SESSIONS, choose_victim
from ._session import RunningProcess, Session
from ._tool import ToolContext

Args = TypeVarTuple("Args")


class ProcessStarter(Protocol):
    """Starts processes and owns them, as `codex_actors.sandbox.Processes` does."""

    async def start(self, spec: ProcessSpec, output: OutputSink, /) -> RunningProcess:
        """Start a process whose output goes to ``output``.

        Raises:
            ProcessError: if it cannot be started; nothing is running then.
        """
        ...


class Watchers(Protocol):
    """Holds tasks that watch commands, as `trio.Nursery` does."""

    def start_soon(
        self, work: Callable[[*Args], Awaitable[object]], /, *args: *Args, name: str
    ) -> None:
        """Start a task; what it raises ends its owner."""
        ...


@final
class TooManyCommands(CodexActorsError):
    """An agent runs as many commands as it may, and each of them is being waited for."""

    def __init__(self) -> None:
        super().__init__(
            f"{MAX_SESSIONS} commands are being waited for; wait until some have ended"
        )


@final
class ExecSessions:
    """An agent's commands by session id. Made by `open_exec_sessions`."""

    def __init__(
        self,
        processes: ProcessStarter,
        nursery: Watchers,
        *,
        sandbox: Sandbox | None,
        new_session_id: Callable[[], int],
        new_chunk_id: Callable[[], str],
    ) -> None:
        self._processes = processes
        self._nursery = nursery
        self._sandbox = sandbox
        self._new_session_id = new_session_id
        self.new_chunk_id: Final = new_chunk_id
        self._warned = False
        self._sessions: dict[int, Session] = {}
        """By last use, the one used last at the end."""

    def get(self, session_id: int) -> Session | None:
        """The command with that id, if the model has not seen its end; it counts as used now."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._sessions[session_id] = session
        return session

    def running(self) -> tuple[Session, ...]:
        """Those that have not ended, by last use."""
        return tuple(session for session in self._sessions.values() if not session.ended)

    async def start(
        self, spec: ProcessSpec, call_id: str, context: ToolContext, permit: Permit = Permit()
    ) -> Session:
        """Start a command for a call; it is announced, and so is its end when it comes.

        If there are too many, the one that was not used for longest is ended.

        Args:
            spec: The command.
            call_id: The call.
            context: Whose it is, and what it may touch.
            permit: What it may do beyond that.

        Raises:
            TooManyCommands: if none can be ended to make room.
            ProcessError: if it cannot be started, or not under this policy.

        Cancellation: nothing runs.
        """
        policy = context.settings.sandbox_policy or ReadOnly()
        confined = await confine(
            spec,
            DangerFullAccess() if permit.unconfined else policy,
            workspace=context.settings.cwd,
            bounds=() if permit.unconfined else context.settings.bounds,
            sandbox=self._sandbox,
            extra=permit.extra,
        )
        self._make_room(context)
        session = Session(self._free_id(), call_id, spec, context, permit)
        self._sessions[session.id] = session
        try:
            process = await self._processes.start(confined, session.output)
        except BaseException:
            del self._sessions[session.id]
            raise
        session.began(process)
        self._nursery.start_soon(session.watch, name=f"watcher of session {session.id}")
        self._warn_of_many(context)
        return session

    async def end(self, session: Session) -> None:
        """Kill a command with all that it started, and announce its end.

        Cancellation: shielded; takes six seconds at most, as killing does.
        """
        self.forget(session)
        await session.kill()

    def forget(self, session: Session) -> None:
        """The model has seen its end: its id means nothing any more."""
        self._sessions.pop(session.id, None)

    def _free_id(self) -> int:
        while (found := self._new_session_id()) in self._sessions:
            pass
        return found

    def _make_room(self, context: ToolContext) -> None:
        if len(self._sessions) < MAX_SESSIONS:
            return
        victim = choose_victim(tuple(self._sessions.values()))
        if victim is None:
            raise TooManyCommands
        self.forget(victim)
        if not victim.ended:
            context.announce(
                WarningRaised(
                    f"session {victim.id} ({victim.title!r}) was ended: it was not used for"
                    f" longest, and no more than {MAX_SESSIONS} commands may run"
                )
            )
            self._nursery.start_soon(victim.kill, name=f"end of session {victim.id}")

    def _warn_of_many(self, context: ToolContext) -> None:
        many = len(self._sessions) >= MANY_SESSIONS
        if many and not self._warned:
            context.announce(
                WarningRaised(
                    f"{len(self._sessions)} of at most {MAX_SESSIONS} commands are running; end"
                    " some, or the one that was not used for longest will be ended"
                )
            )
        self._warned = many

    async def kill_all(self) -> None:
        """Kill everything, and announce its end. Raises nothing.

        Cancellation: shielded; takes six seconds at most.
        """
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for session in self.running():
                    nursery.start_soon(session.kill)


def _random_session_id() -> int:
    return random.randint(1000, 99_999)


def _random_chunk_id() -> str:
    return secrets.token_hex(3)


def exec_sessions(
    processes: ProcessStarter, nursery: Watchers, *, sandbox: Sandbox | None = None
) -> ExecSessions:
    """Return an agent's commands, for a scope that it has already.

    Args:
        processes: Starts and owns their processes.
        nursery: Holds the tasks that watch them; its owner calls `ExecSessions.kill_all`.
        sandbox: Confines each command to the policy in the settings of its turn; chosen for
            each without, and for a policy that nobody gave, which is read-only.
    """
    return ExecSessions(
        processes,
        nursery,
        sandbox=sandbox,
        new_session_id=_random_session_id,
        new_chunk_id=_random_chunk_id,
    )


@asynccontextmanager
async def open_exec_sessions(
    processes: ProcessStarter,
    *,
    sandbox: Sandbox | None = None,
    new_session_id: Callable[[], int] = _random_session_id,
    new_chunk_id: Callable[[], str] = _random_chunk_id,
) -> AsyncGenerator[ExecSessions, None]:
    """Open a scope for an agent's commands; leaving it ends them all.

    Args:
        processes: Starts and owns their processes.
        sandbox: Confines each command to the policy in the settings of its turn; chosen for
            each without, and for a policy that nobody gave, which is read-only.
        new_session_id: Makes the numbers by which the model knows running commands. It is
            asked again if the number is taken.
        new_chunk_id: Makes the six hexadecimal digits on top of each output.

    Cancellation: the killing is shielded and takes six seconds at most.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            sessions = ExecSessions(
                processes,
                nursery,
                sandbox=sandbox,
                new_session_id=new_session_id,
                new_chunk_id=new_chunk_id,
            )
            try:
                yield sessions
            except BaseException as error:
                failure = error
                raise
            finally:
                await sessions.kill_all()
                nursery.cancel_scope.cancel(reason="the scope was left")
    except BaseExceptionGroup as group:
        # The nursery wraps also what the body raised; that goes out bare.
        rest = group.split(trio.Cancelled)[1]
        if rest is None or rest.exceptions != (failure,):
            raise
    if failure is not None:
        raise failure
