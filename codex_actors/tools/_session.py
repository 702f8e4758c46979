"""One command that an agent runs, from its start to its announced end."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Protocol, final

import trio

from ..core import Captured, Permit
from ..protocol import CommandItem, CommandOutput
from ..sandbox import ProcessSpec, ProcessSurvived, Survivor
from ._announce import announce_completed, announce_started
from ._output import CommandOutputBuffer
from ._tool import ToolContext


class RunningProcess(Protocol):
    """A process, as `codex_actors.sandbox.Process` is one."""

    def exit_code(self) -> int | None:
        """How it exited; minus the signal that it died of; None while it runs."""
        ...

    async def wait(self) -> int:
        """Wait until it has exited and its output was read.

        Raises:
            ProcessSurvived: if its scope was left, and it could not be killed.
        """
        ...

    async def write(self, data: bytes, /) -> None:
        """Type into its terminal.

        Raises:
            NoTerminal: if it was started without one.
            ProcessEnded: if it does not read any more.
            trio.BusyResourceError: if another task is writing.
        """
        ...

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        ...

    async def kill(self) -> tuple[Survivor, ...]:
        """End it with all its descendants; return what could not be ended."""
        ...


@final
class Session:
    """A command that was started for a call."""

    def __init__(
        self,
        session_id: int,
        call_id: str,
        spec: ProcessSpec,
        context: ToolContext,
        permit: Permit = Permit(),
    ) -> None:
        self.id: Final = session_id
        self.call_id: Final = call_id
        self.spec: Final = spec
        self.output: Final = CommandOutputBuffer(self._announce_output)
        self._context = context
        self._process: RunningProcess | None = None
        self.is_escalated: Final = permit.is_escalated
        """Whether somebody has let it run without the sandbox."""
        self._started_at_ms = permit.started_at_ms
        self._started_at = trio.current_time()
        self._exit_code: int | None = None
        self._killed = False
        self._ended = trio.Event()
        self._callers = 0
        self.printed = ""
        """All that it printed, as far as it was kept; known when it has ended."""

    @property
    def process(self) -> RunningProcess:
        """What runs; there is nothing before it has begun."""
        assert self._process is not None
        return self._process

    @property
    def title(self) -> str:
        """The command as people write it."""
        return shlex.join(self.spec.argv)

    @property
    def busy(self) -> bool:
        """Whether a call waits for it at this moment, or it is just being started."""
        return self._callers > 0 or self._process is None

    @property
    def ended(self) -> bool:
        """Whether its end was announced."""
        return self._ended.is_set()

    @property
    def exit_code(self) -> int | None:
        """As shells tell it: 128 and the signal if it died of one. None: not known."""
        code = self._exit_code
        return code if code is None or code >= 0 else 128 - code

    @contextmanager
    def in_use(self) -> Generator[None, None, None]:
        """A call waits for it: it is not ended to make room for others."""
        self._callers += 1
        try:
            yield
        finally:
            self._callers -= 1

    def began(self, process: RunningProcess) -> None:
        """Announce the start, unless output was quicker."""
        self._process = process
        self._announce_start()

    async def watch(self) -> None:
        """Wait for the process, and announce its end."""
        try:
            self._finish(await self.process.wait())
        except ProcessSurvived:
            self._finish(None)

    async def wait_ended(self) -> None:
        """Wait until its end was announced.

        Cancellation: ends the waiting; the command runs on.
        """
        await self._ended.wait()

    async def kill(self) -> None:
        """Kill it with all that it started, and announce its end.

        Cancellation: shielded; takes six seconds at most.
        """
        self._killed = True
        with trio.CancelScope(shield=True):
            await self.process.kill()
        self._finish(self.process.exit_code())  # the watcher may not have had its turn yet

    def read(self) -> Captured:
        """Take the output since the last time."""
        return self.output.read(final=self.ended)

    def _announce_start(self) -> None:
        if self._started_at_ms is None:
            self._started_at_ms = announce_started(self._item(), self._context)

    def _announce_output(self, piece: bytes) -> None:
        # The process may print before `began` is called; people hear of it in order.
        self._announce_start()
        self._context.announce(CommandOutput(call_id=self.call_id, chunk=piece))

    def _finish(self, exit_code: int | None) -> None:
        if self.ended:
            return
        self._exit_code = exit_code
        self.printed = self.output.close()
        item = CommandItem(
            id=self.call_id,
            command=self.spec.argv,
            cwd=self.spec.cwd,
            status="completed" if exit_code == 0 else "failed",
            process_id=str(self.id),
            aggregated_output=self.printed,
            exit_code=-1 if self._killed and exit_code is not None else self.exit_code,
            duration=trio.current_time() - self._started_at,
        )
        assert self._started_at_ms is not None
        announce_completed(item, self._context, started_at_ms=self._started_at_ms)
        self._ended.set()

    def _item(self) -> CommandItem:
        return CommandItem(
            id=self.call_id,
            command=self.spec.argv,
            cwd=self.spec.cwd,
            status="in_progress",
            process_id=str(self.id),
        )
