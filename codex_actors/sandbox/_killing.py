"""Killing processes so that none gets away.

Whoever kills processes one by one races against those that fork. So they are
stopped first, until a look at the table shows nobody new, and then killed,
until a look at the table shows nobody left.

Bounds are in the kernel's time, not in Trio's: what is waited for is the
kernel, which a test's clock cannot hurry.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import suppress
from typing import Final, TypeAlias, final

import attrs
import trio

from ._subreaper import is_subreaper
from ._table import ProcessRow, Table, read_argv, read_descendants, read_row, read_table

FREEZE_SECONDS: Final = 1.0
"""How long stopping may take. It is a precaution: killing repeats until nobody is left."""
KILL_SECONDS: Final = 5.0
"""How long killing may take; what lives longer hangs in the kernel, or is another user's."""
NOTICE_SECONDS: Final = 1.0
"""How long it may take to notice that a killed process has exited."""
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05

Find: TypeAlias = Callable[[Table], Sequence[ProcessRow]]
"""Picks the processes to be killed out of a table."""


@final
@attrs.frozen
class Survivor:
    """A process that could not be killed."""

    pid: int
    argv: tuple[str, ...]


Look: TypeAlias = Callable[[], Table]
"""Reads the table, or the part of it that matters."""


def below_us() -> Table:
    """What is below this program; everything, where orphans go elsewhere. Blocks."""
    return read_descendants(os.getpid()) if is_subreaper() else read_table()


async def scan(find: Find, *, look: Look = below_us, delay: float = 0) -> Sequence[ProcessRow]:
    """Wait ``delay`` seconds, then read the table and pick from it.

    Cancellation: gives up at once. A read of another process's environment
    can hang as long as that process hangs in the kernel.
    """
    table = await trio.to_thread.run_sync(
        _read,
        look,
        delay,
        abandon_on_cancel=True,
        limiter=trio.CapacityLimiter(1),
    )
    return find(table)


async def kill_all(
    find: Find, *, owned: Container[int], look: Look = below_us
) -> tuple[Survivor, ...]:
    """Kill every process that ``find`` picks, again and again until it picks none.

    Args:
        find: Picks the processes, zombies included.
        owned: Pids whose exit somebody else waits for; all other zombies that
            are children of this program are reaped here.
        look: Reads what may be picked from; called in a thread.

    Cancellation: shielded; takes `FREEZE_SECONDS` and `KILL_SECONDS` at most.
    """
    hunt = _Hunt(find, owned, look)
    with trio.CancelScope(shield=True):
        await within(FREEZE_SECONDS, hunt.freeze)
        await within(KILL_SECONDS, hunt.kill)
    return tuple(Survivor(row.pid, read_argv(row.pid)) for row in hunt.left)


def interrupt_sessions_below(ancestor: int) -> None:
    """Send SIGINT to what a process has started in other sessions, and not to itself.

    What confines a command would not survive it, and the command neither. Where the process has
    become the command, it gets the signal with its group.
    """
    sessions = {row.session for row in read_descendants(ancestor).values()} - {ancestor}
    for session in sessions or {ancestor}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGINT)


def signal_below(ancestor: int, signum: signal.Signals) -> None:
    """Send a signal to all that a process has started; to itself if that is nobody. Blocks.

    What confines a command is not told where there is a command: it would end at once, and the
    command could say nothing to it.
    """
    below = read_descendants(ancestor).values()
    itself = read_row(ancestor)
    for row in below or ((itself,) if itself is not None else ()):
        _send(row, signum)


def reap(rows: Sequence[ProcessRow], *, owned: Container[int]) -> None:
    """Bury the orphans among ``rows`` that have come to this program and died."""
    for row in rows:
        if row.state == "Z" and row.parent == os.getpid() and row.pid not in owned:
            _bury(row)


@final
@attrs.define(eq=False)
class _Hunt:
    find: Find
    owned: Container[int]
    look: Look
    left: Sequence[ProcessRow] = ()

    async def freeze(self) -> None:
        stopped_before: set[int] | None = None
        while True:
            self.left = await scan(self.find, look=self.look)
            if not self.left:
                return
            moving = [row for row in self.left if row.state not in "TtZX"]
            stopped = {row.pid for row in self.left}
            # Twice the same: the first of two looks may have passed a pid
            # before a process that was not yet stopped put a child there.
            if not moving and stopped == stopped_before:
                return
            stopped_before = None if moving else stopped
            for row in moving:
                _send(row, signal.SIGSTOP)

    async def kill(self) -> None:
        pause = 0.0
        while True:
            rows = await scan(self.find, look=self.look, delay=pause)
            reap(rows, owned=self.owned)
            pids = {row.pid for row in rows}
            self.left = [row for row in rows if not self._is_over(row, pids)]
            if not self.left:
                return
            for row in self.left:
                _send(row, signal.SIGKILL)
            pause = min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)

    def _is_over(self, row: ProcessRow, pids: Container[int]) -> bool:
        if row.state not in "ZX":
            return False
        if row.pid in self.owned:
            return True
        # A zombie whose parent is about to die comes to us, to be buried.
        return row.parent not in pids and (row.parent != os.getpid() or read_row(row.pid) is None)


def _read(look: Look, delay: float) -> Table:
    time.sleep(delay)
    return look()


def _send(row: ProcessRow, signum: signal.Signals) -> None:
    """Signal this very process, and none that has got its pid since."""
    with suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(row.pid)
        try:
            now = read_row(row.pid)
            if now is not None and now.identity == row.identity:
                signal.pidfd_send_signal(handle, signum)
        finally:
            os.close(handle)


def _bury(row: ProcessRow) -> None:
    now = read_row(row.pid)
    if now is not None and now.identity == row.identity:
        with suppress(ChildProcessError):
            os.waitpid(row.pid, os.WNOHANG)


async def within(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Cancel ``work`` after so many seconds of the kernel's time.

    Cancellation: cancels the work.
    """
    done = threading.Event()

    async def watch() -> None:
        await trio.to_thread.run_sync(
            done.wait, seconds, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
        nursery.cancel_scope.cancel(reason="the kernel took too long")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        try:
            await work()
        finally:
            done.set()
            nursery.cancel_scope.cancel(reason="the work is done")
