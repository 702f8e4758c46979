"""One running process, as its owner sees it."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from typing import Final, final

import trio

from ._errors import NoTerminal, ProcessEnded, ProcessSurvived
from ._family import Family
from ._killing import NOTICE_SECONDS, Survivor, interrupt_sessions_below, kill_all, within
from ._pty import interrupt_foreground, resize
from ._spec import OutputSink, ProcessSpec
from ._start import Started

logger = logging.getLogger(__name__)

TRAILING_SECONDS: Final = 0.1
"""How long output is awaited after the exit, while others hold the pipe open; as Codex does."""
_CHUNK: Final = 65_536
"""Bytes per read: what a Linux pipe holds."""
_LAST_CHUNKS: Final = 16


@final
class Process:
    """A process, started by `Processes.start`, that ends with its agent at the latest."""

    def __init__(
        self, spec: ProcessSpec, started: Started, output: OutputSink, family: Family
    ) -> None:
        self.spec: Final = spec
        self.pid: Final = started.child.pid
        self._child = started.child
        self._stream = started.stream
        self._output = output
        self._family = family
        self._received = 0
        self._news = trio.lowlevel.ParkingLot()
        self._exit_code: int | None = None
        self._ended = trio.Event()
        self._scope = trio.CancelScope(shield=True)

    def __repr__(self) -> str:
        state = "running" if not self._ended.is_set() else f"exited with {self._exit_code}"
        return f"<Process {self.pid} {self.spec.argv[0]!r}: {state}>"

    def exit_code(self) -> int | None:
        """How it exited: 0 to 255, or minus the signal it died of; None while it runs."""
        return self._exit_code

    def received(self) -> int:
        """How many bytes of output have gone to its sink so far."""
        return self._received

    async def wait(self) -> int:
        """Wait until the process has exited and its output has been read.

        What its own children print later than 0.1 seconds after its exit is
        not read.

        Raises:
            ProcessSurvived: if its scope was left, and it could not be killed.

        Cancellation: ends the waiting; the process runs on.
        """
        await self._ended.wait()
        if self._exit_code is None:
            raise ProcessSurvived(self.pid)
        return self._exit_code

    async def wait_output(self, *, after: int) -> int:
        """Wait for more than ``after`` bytes of output, or for the end.

        Returns:
            What `received` returns now.

        Cancellation: ends the waiting; the process runs on.
        """
        await trio.lowlevel.checkpoint()
        while self._received <= after and not self._ended.is_set():
            await self._news.park()
        return self._received

    async def write(self, data: bytes) -> None:
        """Type ``data`` into its terminal.

        Raises:
            NoTerminal: if it was started without one.
            ProcessEnded: if it does not read any more.
            trio.BusyResourceError: if another task is writing.

        Cancellation: some of ``data`` may have been written.
        """
        if not self.spec.tty:
            await trio.lowlevel.checkpoint()
            raise NoTerminal(self.pid)
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as exc:
            raise ProcessEnded(self.pid) from exc

    def resize(self, *, rows: int, columns: int) -> None:
        """Give its terminal another size, in characters; nothing without a terminal."""
        if self.spec.tty and not self._ended.is_set():
            resize(self._stream.fileno(), rows=rows, columns=columns)

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does; nothing if it has exited."""
        if self._child.returncode is not None:
            return
        if self.spec.tty:
            interrupt_foreground(self._stream.fileno())
        elif self.spec.confined:
            interrupt_sessions_below(self.pid)
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGINT)

    async def kill(self) -> tuple[Survivor, ...]:
        """Kill the process and all its descendants, daemons included, and wait for it.

        Returns:
            What could not be killed.

        Cancellation: shielded; takes seven seconds at most.
        """
        logger.info("killing process %d and what it started", self.pid)
        survivors = await kill_all(self._family.members, owned=(self.pid,))
        self._kill_group()
        with trio.CancelScope(shield=True):
            await within(NOTICE_SECONDS, self._ended.wait)
        return survivors

    def _kill_group(self) -> None:
        """Kill those that cannot have been found where there is no table to look at."""
        if self._child.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    async def _serve(self) -> None:
        """Read the output until the process ends, or can no longer be served."""
        try:
            with self._scope:
                await self._read_to_the_end()
        except BaseException:
            if not await kill_all(self._family.members, owned=(self.pid,)):
                with trio.CancelScope(shield=True):
                    await self._child.wait()
            raise
        finally:
            self._end()

    async def _read_to_the_end(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_reading_after_exit, nursery.cancel_scope)
            await self._read()
            await self._child.wait()
            nursery.cancel_scope.cancel(reason="the process has exited")

    async def _stop_reading_after_exit(self, reading: trio.CancelScope) -> None:
        await self._child.wait()
        await trio.sleep(TRAILING_SECONDS)
        reading.cancel(reason="the process has exited, and its children keep its output open")

    async def _read(self) -> None:
        # A terminal says by an error that nobody has it open any more.
        with suppress(trio.BrokenResourceError):
            while data := await self._stream.receive_some(_CHUNK):
                self._take(data)

    def _end(self) -> None:
        try:
            self._read_rest()
        finally:
            self._stream.close()
            self._exit_code = self._child.returncode
            self._ended.set()
            self._news.unpark_all()

    def _read_rest(self) -> None:
        """Take what lies in the pipe, should the grace have passed before a read."""
        with suppress(OSError):
            for _ in range(_LAST_CHUNKS):
                if not (data := os.read(self._stream.fileno(), _CHUNK)):
                    return
                self._take(data)

    def _take(self, data: bytes) -> None:
        self._received += len(data)
        self._output.append(data)
        self._news.unpark_all()
