"""Finding what a killed program has left running.

After ``kill -9`` nobody cleans up. So each scope keeps a record (see `_record`), which is
removed when the scope is left; a record whose program is dead leads to what is left over:
processes, and empty folders that stood in for missing ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

import attrs
import trio

from ._family import Family
from ._killing import Survivor, kill_all
from ._record import SUFFIX, Record, here
from ._stand_ins import remove_stand_in
from ._table import Identity, boot_id, read_argv, read_row, read_table


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
@attrs.frozen(kw_only=True)
class _Story:
    """What a record says."""

    path: Path
    scope: str
    place: str
    boot: str
    program: Identity
    processes: tuple[Identity, ...]
    stand_ins: tuple[str, ...]

    def is_ours_to_judge(self) -> bool:
        """Whether this machine can tell that the program is dead, and it is."""
        if self.place != here():
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


async def find_leftovers(directory: Path) -> tuple[Leftover, ...]:
    """The living processes of programs that have died.

    What of them was in folders is taken away, and stale records are dropped.

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
    for story in await trio.to_thread.run_sync(_sweep, directory):
        left = await kill_all(story.family().members, owned=(), look=read_table)
        if not left:
            await Record(story.path).discard()
        survivors.extend(left)
    return tuple(survivors)


def _find(directory: Path) -> tuple[Leftover, ...]:
    table = read_table()
    found: list[Leftover] = []
    for story in _sweep(directory):
        alive = [row for row in story.family().members(table) if row.state not in "ZX"]
        found.extend(
            Leftover(identity=row.identity, argv=read_argv(row.pid), scope=story.scope)
            for row in alive
        )
        if not alive:
            story.path.unlink(missing_ok=True)
    return tuple(found)


def _sweep(directory: Path) -> tuple[_Story, ...]:
    """The records of dead programs, when the folders that stood in for others are gone."""
    stories = _read_stories(directory)
    for story in stories:
        for path in story.stand_ins:
            remove_stand_in(path)
    return stories


def _read_stories(directory: Path) -> tuple[_Story, ...]:
    """The records of dead programs."""
    stories = [_read_story(path) for path in sorted(directory.glob(f"*{SUFFIX}"))]
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
            processes=tuple(_identity(line) for line in rest if "pid" in line),
            stand_ins=tuple(str(line["stand_in"]) for line in rest if "stand_in" in line),
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
