"""The kernel's table of processes, read from ``/proc``.

Where there is no ``/proc`` (macOS) every table is empty, and what is known
about processes is only what the caller started itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, final

import attrs

MARKER: Final = "CODEX_ACTORS_SCOPE"
"""The variable that tells whose a process is: scope ids, outermost first, joined by ``:``."""


@final
@attrs.frozen
class Identity:
    """A process for good: a pid is used again, a pid with its start time is not."""

    pid: int
    started: int
    """Clock ticks since the machine booted."""


@final
@attrs.frozen(kw_only=True)
class ProcessRow:
    """One process, as it was when the table was read."""

    identity: Identity
    parent: int
    session: int
    state: str
    """One letter, as in proc(5): R running, S sleeping, T stopped, Z zombie, ..."""
    marks: frozenset[str] = frozenset()
    """Ids of the scopes it was started in."""

    @property
    def pid(self) -> int:
        return self.identity.pid


Table: TypeAlias = Mapping[int, ProcessRow]


def read_row(pid: int) -> ProcessRow | None:
    """One process without its marks, or None if it is gone."""
    text = _read(f"/proc/{pid}/stat")
    if text is None:
        return None
    # The program's name, in parentheses, may itself hold spaces and parentheses.
    fields = text.rpartition(b")")[2].split()
    return ProcessRow(
        identity=Identity(pid, int(fields[19])),
        parent=int(fields[1]),
        session=int(fields[3]),
        state=fields[0].decode(),
    )


def read_table() -> Table:
    """Every process that may be seen, with its marks. Blocks: call it in a thread."""
    return _with_marks(_read_rows())


def read_descendants(ancestor: int) -> Table:
    """The processes below ``ancestor``, with their marks. Blocks: call it in a thread."""
    rows = _read_rows()
    below = with_descendants(rows, {ancestor}) - {ancestor}
    return _with_marks({pid: rows[pid] for pid in below if pid in rows})


def with_descendants(table: Table, pids: Iterable[int]) -> set[int]:
    """``pids``, their children, the children of those, and so on."""
    children: dict[int, list[int]] = {}
    for row in table.values():
        children.setdefault(row.parent, []).append(row.pid)
    found = set(pids)
    unvisited = list(found)
    while unvisited:
        new = [pid for pid in children.get(unvisited.pop(), ()) if pid not in found]
        found.update(new)
        unvisited.extend(new)
    return found


def read_argv(pid: int) -> tuple[str, ...]:
    """What the process calls itself; empty if it is gone or may not be asked."""
    text = _read(f"/proc/{pid}/cmdline") or b""
    return tuple(os.fsdecode(word) for word in text.rstrip(b"\0").split(b"\0") if word)


def boot_id() -> str:
    """Changes whenever the machine boots; empty where the kernel does not tell."""
    return (_read("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


def _read_rows() -> Table:
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    rows = (read_row(int(name)) for name in names if name.isdecimal())
    return {row.pid: row for row in rows if row is not None}


def _with_marks(table: Table) -> Table:
    return {pid: attrs.evolve(row, marks=_read_marks(pid)) for pid, row in table.items()}


def _read_marks(pid: int) -> frozenset[str]:
    prefix = MARKER.encode() + b"="
    for variable in (_read(f"/proc/{pid}/environ") or b"").split(b"\0"):
        if variable.startswith(prefix):
            return frozenset(os.fsdecode(variable[len(prefix) :]).split(":"))
    return frozenset()


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return None
