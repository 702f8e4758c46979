"""Empty folders that stand where nothing may be made while commands run.

A mount keeps a path from being made only if something is there to be mounted upon. So an empty
folder is put there that nobody may write to, and taken away when the last command that needs it
has ended, in whichever program: each holds a shared lock on it. What a killed program has left is
known by its record, and by its mode: it goes when the next program looks for what was left, or
with the next command that needs it.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from ._errors import CouldNotStart
from ._record import Record
from ._spec import ProcessSpec

_MODE: Final = 0o555


def hold_stand_ins(held: ExitStack, spec: ProcessSpec, record: Record | None) -> None:
    """Put empty folders where the command needs them, until ``held`` is closed. Blocks, shortly.

    Where we may not write, no command of ours may, and nothing is needed.

    Args:
        held: Takes them away.
        spec: Names them.
        record: Where they are noted, for the case that nobody takes them away.

    Raises:
        CouldNotStart: if one cannot be made for another reason.
    """
    for path in spec.stand_ins:
        if record is not None:
            record.add_stand_in(path)
        try:
            held.enter_context(_standing_in(path))
        except OSError as error:
            detail = f"nothing can be put at {path!r}: {error.strerror}"
            raise CouldNotStart(
                program=spec.argv[0], cwd=spec.cwd, fault="other", detail=detail
            ) from error


def remove_stand_in(path: str) -> None:
    """Take away what a killed program has left at a path, if it is that. Blocks, shortly."""
    with suppress(OSError):
        descriptor = _open(path)
        try:
            _remove(path, descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _standing_in(path: str) -> Generator[None, None, None]:
    try:
        with suppress(FileExistsError):
            os.mkdir(path, _MODE)
        descriptor = _open(path)
    except (PermissionError, NotADirectoryError):
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        _remove(path, descriptor)
        os.close(descriptor)


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _remove(path: str, descriptor: int) -> None:
    """Take it away if it is ours, empty, and nobody needs it."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.lstat(path)
        ours = stat.S_IMODE(found.st_mode) == _MODE and os.path.samestat(
            found, os.fstat(descriptor)
        )
        if ours:
            os.rmdir(path)
