"""Adds a rule to the file that the program writes: ``<home>/rules/default.rules``."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Sequence
from typing import Final

import trio

from ..core import spell_rule
from ._errors import RulesError

TRIES: Final = 100
"""Ten seconds in all: many yeses at once write one after the other."""
PAUSE: Final = 0.1
"""Seconds between tries to get the lock."""
_FILE_MODE: Final = 0o600
# Without O_NONBLOCK, reading a FIFO would wait for a writer.
_OPEN: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK


def amended_file(home: str) -> str:
    """Return the path of the file."""
    return os.path.join(home, "rules", "default.rules")


async def add_allow_rule(home: str, prefix: Sequence[str]) -> bool:
    """Write down that commands which begin like this may be run.

    Several programs may do so at once: each holds a lock on the file while it looks and writes.

    Args:
        home: The home directory, an absolute path.
        prefix: The first words of the commands.

    Returns:
        False if the file says so already.

    Raises:
        RulesError: it cannot be written, or another program keeps it locked.
        ValueError: the prefix is empty, or no text.

    Cancellation: the line is in the file, or it is not; never a part of it.
    """
    path, line = amended_file(home), spell_rule(prefix)
    for attempt in range(TRIES):
        if attempt:
            await trio.sleep(PAUSE)
        try:
            return await trio.to_thread.run_sync(_add_line, path, line.encode())
        except BlockingIOError:
            continue
        except OSError as error:
            problem = f"the rule was not added: {(error.strerror or str(error)).lower()}"
            raise RulesError(problem, path=path) from error
    raise RulesError("the rule was not added: another program has the file locked", path=path)


def _add_line(path: str, line: bytes) -> bool:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, _OPEN, _FILE_MODE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(None, "it is no file")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(descriptor, "rb", closefd=False) as file:
            before = file.read()
        if line in (known.strip() for known in before.splitlines()):
            return False
        torn = before and not before.endswith(b"\n")
        _append(descriptor, (b"\n" if torn else b"") + line + b"\n", len(before))
    finally:
        os.close(descriptor)
    return True


def _append(descriptor: int, content: bytes, size: int) -> None:
    """Append all of it, or nothing: a full disk may take a part."""
    try:
        if os.write(descriptor, content) < len(content):
            raise OSError(None, "the disk took a part of the line only")
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
