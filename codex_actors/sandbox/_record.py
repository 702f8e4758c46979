"""What a scope leaves on disk for whoever would look for it if this program were killed.

A record is a file of JSON lines, readable by its owner only. The first line says which program
the scope belongs to and by which marker its processes are known; each further one names a process
that was started in it, or an empty folder that stands in for a missing one.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from .._folders import make_folder
from ._errors import CannotTakeNotes
from ._table import Identity, boot_id, read_row

SUFFIX: Final = ".processes"


@final
@attrs.frozen
class Record:
    """The file of one scope."""

    path: Path

    async def add(self, identity: Identity, program: str) -> None:
        """Note a process that was just started."""
        line = {"pid": identity.pid, "started": identity.started, "program": program}
        # The process runs already, and its marker is on disk: without this
        # line it is found all the same, unless it clears its environment.
        with suppress(OSError):
            await trio.to_thread.run_sync(_append, self.path, line)

    def add_stand_in(self, path: str) -> None:
        """Note an empty folder that is about to be made. Blocks, shortly."""
        # Without this line it is taken away in order all the same, or with the next command's.
        with suppress(OSError):
            _append(self.path, {"stand_in": path})

    async def discard(self) -> None:
        """Remove the file, as nothing is left to be found."""
        await trio.to_thread.run_sync(self.remove)

    def remove(self) -> None:
        """The same. Blocks, shortly."""
        # A record that stays is dropped by the next program that looks.
        with suppress(OSError):
            self.path.unlink()


async def open_record(directory: Path, scope: str) -> Record:
    """Write the record of a scope before anything is started in it.

    Raises:
        CannotTakeNotes: if the directory or the file cannot be written.
    """
    return await trio.to_thread.run_sync(write_record, directory, scope)


def write_record(directory: Path, scope: str) -> Record:
    """Do what `open_record` does. Blocks, shortly.

    Raises:
        CannotTakeNotes: if the directory or the file cannot be written.
    """
    record = Record(directory / f"{scope}{SUFFIX}")
    try:
        _create(record.path, scope)
    except OSError as error:
        raise CannotTakeNotes(str(directory), error.strerror or str(error)) from error
    return record


def here() -> str:
    """The machine and the container: where a pid means the same process."""
    with suppress(OSError):
        return f"{os.uname().nodename} {os.readlink('/proc/self/ns/pid')}"
    return os.uname().nodename


def _create(path: Path, scope: str) -> None:
    make_folder(str(path.parent))
    me = read_row(os.getpid())
    started = me.identity.started if me is not None else 0
    line = {"scope": scope, "place": here(), "boot": boot_id()}
    _append(path, {**line, "pid": os.getpid(), "started": started})


def _append(path: Path, line: dict[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)
