"""Finding and ending what carries an attempt's token."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, final

_LONGEST: Final = 60.0
"""Seconds after which killing is given up."""


@final
class _Looks:
    """Looks at all processes, once for all who ask while a look goes on.

    A look reads two files of every process of the machine, and many attempts are made at a time.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = self._done = 0
        self._found: Mapping[int, bytes] = {}

    def look(self) -> Mapping[int, bytes]:
        """Environment and arguments of each process, as seen in a look that began after the call."""
        with self._changed:
            wanted = self._begun + 1
            while self._done < wanted and self._begun > self._done:
                self._changed.wait()
            if self._done >= wanted:
                return self._found
            self._begun += 1
        found = {int(name): _words(name) for name in os.listdir("/proc") if name.isdecimal()}
        with self._changed:
            self._done, self._found = self._begun, found
            self._changed.notify_all()
        return found


_LOOKS: Final = _Looks()


def carriers(token: str) -> set[int]:
    """Living processes with the token in their environment or their arguments."""
    return {
        pid for pid, words in _LOOKS.look().items() if token.encode() in words and not _is_dead(pid)
    }


def are_left(token: str, *, looks: int, grace: float) -> bool:
    """Whether some are still alive, a moment after they should have ended.

    Args:
        token: What they carry.
        looks: How often nothing must be seen: one look can miss who forks all the time.
        grace: Seconds that the kernel may take to take away what was killed.
    """
    until = time.monotonic() + grace
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


def _words(pid: str) -> bytes:
    return _bytes(f"/proc/{pid}/environ") + b"\0" + _bytes(f"/proc/{pid}/cmdline")


def _is_dead(pid: int) -> bool:
    return _bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"], [])


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
