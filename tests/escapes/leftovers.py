"""Finding and ending what carries an attempt's token."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

GRACE: Final = 2.0
"""Seconds that the kernel may take to take away what was killed, on a busy machine."""
_LONGEST: Final = 60.0
"""Seconds after which killing is given up."""


def carriers(token: str) -> set[int]:
    """Living processes with the token in their environment or their arguments."""
    return {
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdecimal() and _carries(path, token.encode()) and not _is_dead(path)
    }


def are_left(token: str, *, looks: int) -> bool:
    """Whether some are still alive, a moment after they should have ended.

    Args:
        token: What they carry.
        looks: How often nothing must be seen: one look can miss who forks all the time.
    """
    until = time.monotonic() + GRACE
    unseen = 0
    while unseen < looks:
        unseen = 0 if carriers(token) else unseen + 1
        if not unseen and time.monotonic() > until:
            return True
        time.sleep(0.02 if looks > 1 or not unseen else 0)
    return False


def end_all(token: str, *, looks: int) -> None:
    """Kill until none is left, however fast they fork."""
    until = time.monotonic() + _LONGEST
    unseen = 0
    while unseen < looks:
        found = carriers(token)
        assert time.monotonic() < until or not found, f"cannot end {found}"
        for action in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, action)
        for pid in found:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        unseen = 0 if found else unseen + 1


def _carries(path: Path, token: bytes) -> bool:
    return token in _bytes(path / "environ") or token in _bytes(path / "cmdline")


def _is_dead(path: Path) -> bool:
    return _bytes(path / "stat").rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"], [])


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
