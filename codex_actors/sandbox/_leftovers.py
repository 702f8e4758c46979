"""Finding what a killed program has left running.

After ``kill -9`` nobody cleans up. So each scope keeps a small file that says
which program it belongs to and by which marker its processes are known. The
file is removed when the scope is left; a file whose program is dead leads to
what is left over.

A record is a file of JSON lines, readable by its owner only. The first line
describes the scope, each further one a process that was started in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from ._errors import CannotTakeNotes
from ._family import Family
from ._killing import Survivor, kill_all
from ._table import Identity, boot_id, read_argv, read_row, read_table

_SUFFIX: Final = ".processes"


@final
@attrs.frozen(kw_only=True)
class Leftover:
    """A process that outlived the program that started it."""

    identity: Identity
    argv: tuple[str, ...]
    """What it calls itself now."""
    scope: str
    """The scope it was started in, as its marker names it."""


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

    async def discard(self) -> None:
        """Remove the file, as nothing is left to be found."""
        # A record that stays is dropped by the next program that looks.
        with suppress(OSError):
            await trio.to_thread.run_sync(self.path.unlink)


@final
@attrs.frozen(kw_only=True)
class _Story:
    """What a record says."""

    path: Path
    scope: str
    place: str
    boot: str
    program: Identity
    processes: tuple[Identity, ...]

    def is_ours_to_judge(self) -> bool:
        """Whether this machine can tell that the program is dead, and it is."""
        if self.place != _place():
            return False
        row = read_row(self.program.pid)
        alive = row is not None and row.state not in "ZX" and row.identity == self.program
        return self.boot != boot_id() or not alive

    def family(self) -> Family:
        family = Family(self.scope)
        # After a boot, the same pid and start time may be another process.
        for identity in self.processes if self.boot == boot_id() else ():
            family.add_root(identity)
        return family


async def open_record(directory: Path, scope: str) -> Record:
    """Write the record of a scope before anything is started in it.

    Raises:
        CannotTakeNotes: if the directory or the file cannot be written.
    """
    record = Record(directory / f"{scope}{_SUFFIX}")
    try:
        await trio.to_thread.run_sync(_create, record.path, scope)
    except OSError as error:
        raise CannotTakeNotes(str(directory), error.strerror or str(error)) from error
    return record


async def find_leftovers(directory: Path) -> tuple[Leftover, ...]:
    """The living processes of programs that have died; stale records are dropped.

    Programs on other machines or in other containers that share the directory
    are left alone. So is everything whose start time or marker does not agree
    with its record: a pid alone proves nothing.

    Raises:
        OSError: if the directory exists and cannot be read.
    """
    return await trio.to_thread.run_sync(_find, directory)


async def kill_leftovers(directory: Path) -> tuple[Survivor, ...]:
    """Kill what `find_leftovers` finds, descendants included, and drop the records.

    Returns:
        What could not be killed; its records stay.

    Raises:
        OSError: if the directory exists and cannot be read.

    Cancellation: between records; each takes six seconds at most.
    """
    survivors: list[Survivor] = []
    for story in await trio.to_thread.run_sync(_read_stories, directory):
        left = await kill_all(story.family().members, owned=(), look=read_table)
        if not left:
            await Record(story.path).discard()
        survivors.extend(left)
    return tuple(survivors)


def _find(directory: Path) -> tuple[Leftover, ...]:
    table = read_table()
    found: list[Leftover] = []
    for story in _read_stories(directory):
        alive = [row for row in story.family().members(table) if row.state not in "ZX"]
        found.extend(
            Leftover(identity=row.identity, argv=read_argv(row.pid), scope=story.scope)
            for row in alive
        )
        if not alive:
            story.path.unlink(missing_ok=True)
    return tuple(found)


def _read_stories(directory: Path) -> tuple[_Story, ...]:
    """The records of dead programs."""
    stories = [_read_story(path) for path in sorted(directory.glob(f"*{_SUFFIX}"))]
    return tuple(story for story in stories if story is not None and story.is_ours_to_judge())


def _read_story(path: Path) -> _Story | None:
    try:
        first, *rest = _parse(path.read_text("utf-8").splitlines())
        return _Story(
            path=path,
            scope=first["scope"],
            place=first["place"],
            boot=first["boot"],
            program=_identity(first),
            processes=tuple(_identity(line) for line in rest),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _parse(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    """The lines up to one that the killed program did not finish."""
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            return


def _identity(line: dict[str, Any]) -> Identity:
    return Identity(int(line["pid"]), int(line["started"]))


def _create(path: Path, scope: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    me = read_row(os.getpid())
    started = me.identity.started if me is not None else 0
    line = {"scope": scope, "place": _place(), "boot": boot_id()}
    _append(path, {**line, "pid": os.getpid(), "started": started})


def _append(path: Path, line: dict[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)


def _place() -> str:
    """The machine and the container: where a pid means the same process."""
    with suppress(OSError):
        return f"{os.uname().nodename} {os.readlink('/proc/self/ns/pid')}"
    return os.uname().nodename
