"""Running a command in place, for a person who waits for it."""

from __future__ import annotations

import secrets
import signal
import subprocess
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from ._child import start_directly
from ._errors import CannotTakeNotes
from ._killing import signal_below
from ._record import Record, write_record
from ._spec import ProcessSpec
from ._stand_ins import hold_stand_ins
from ._start import handing_over, refusals_of

GRACE: Final = 2.0
"""Seconds that a command has to end in when it is asked to, before it is ended."""
LOOK: Final = 1.0
"""Seconds after which is looked whether it has ended, should another thread have been told so."""
_ASKING: Final = (signal.SIGINT, signal.SIGQUIT)
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def holding_signals() -> Generator[None, None, None]:
    """Let signals that would end this program wait for `run_here`.

    Enter it before there are threads: a signal goes to any that does not hold it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_heeded(), signal.SIGCHLD})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_here(spec: ProcessSpec, *, records: Path | None = None) -> int:
    """Run a command with this program's own terminal, input and output. Blocks until it ends.

    Signals are the command's business meanwhile. Those that are sent to this program alone go on
    to the command; SIGTERM and SIGHUP end it if it has not ended `GRACE` seconds later. What
    confines a command takes along whatever the command has started.

    Args:
        spec: What to run.
        records: Where is noted what would be left if this program were killed; see
            `find_leftovers`.

    Returns:
        Its exit status, as shells tell it: 128 and the signal if it died of one.

    Raises:
        CouldNotStart: if the system refuses.
    """
    with (
        holding_signals(),
        ExitStack() as held,
        refusals_of(spec),
        handing_over(spec) as (argv, descriptors),
    ):
        if spec.stand_ins:
            hold_stand_ins(held, spec, held.enter_context(_noting(records)))
        code = _wait(*_start(spec, argv, descriptors))
    return code if code >= 0 else 128 - code


@contextmanager
def _noting(records: Path | None) -> Generator[Record | None, None, None]:
    """A record while the block runs; none where none can be written."""
    try:
        record = None if records is None else write_record(records, secrets.token_hex(8))
    except CannotTakeNotes:
        record = None
    try:
        yield record
    finally:
        if record is not None:
            record.remove()


def _heeded() -> set[signal.Signals]:
    return {n for n in (*_ASKING, *_ENDING) if signal.getsignal(n) != signal.SIG_IGN}


def _start(
    spec: ProcessSpec, argv: tuple[str, ...], descriptors: tuple[int, ...]
) -> tuple[subprocess.Popen[bytes], list[signal.Signals]]:
    """Start the command, which holds no signals; return also those that came meanwhile."""
    early: list[signal.Signals] = []

    def take(signum: int, _frame: FrameType | None) -> None:
        early.append(signal.Signals(signum))

    before = {signum: signal.signal(signum, take) for signum in _heeded()}
    held = signal.pthread_sigmask(signal.SIG_UNBLOCK, {*before, signal.SIGCHLD})
    try:
        child = start_directly(argv, cwd=spec.cwd, env=spec.env, pass_fds=descriptors)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        for signum, handler in before.items():
            signal.signal(signum, handler)
    return child, early


def _wait(child: subprocess.Popen[bytes], early: Collection[signal.Signals]) -> int:
    for signum in early:
        child.send_signal(signum)
    if set(early) & set(_ENDING):
        return _wait_shortly(child)
    while (code := child.poll()) is None:
        told = signal.sigtimedwait({*_heeded(), signal.SIGCHLD}, LOOK)
        # The kernel tells the whole group of what is typed, or of a terminal that is gone.
        if told is None or told.si_signo == signal.SIGCHLD or told.si_code > 0:
            continue
        signal_below(child.pid, signal.Signals(told.si_signo))
        if told.si_signo in _ENDING:
            return _wait_shortly(child)
    return code


def _wait_shortly(child: subprocess.Popen[bytes]) -> int:
    """Wait for one that was told to end; what confines it takes it along when it is told."""
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.terminate()
    try:
        return child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()
