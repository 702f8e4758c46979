"""Whose a process is.

A process belongs to a family when any of these holds:

* it was started for the family (a root), or is below a process that belongs to it;
* it carries the family's marker in the environment it was started with;
* it was seen in the family earlier, though its parent has died since;
* it is in a session in which a member was seen, and carries no marker at all.

The last two catch a daemon that cleared its environment, if the family was
looked at before its parents died. One that cleared its environment and left
its session between two looks is nobody's: `adopt_orphans` kills it when the
program ends.
"""

from __future__ import annotations

import os
from typing import final

from ._table import Identity, ProcessRow, Table, with_descendants


@final
class Family:
    """The processes started in a scope, and everything that came from them."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self._roots: dict[int, Identity] = {}
        self._seen: frozenset[Identity] = frozenset()
        self._sessions: frozenset[int] = frozenset()

    def add_root(self, root: Identity) -> None:
        self._roots[root.pid] = root

    def remove_root(self, pid: int) -> None:
        self._roots.pop(pid, None)

    def members(self, table: Table) -> tuple[ProcessRow, ...]:
        """The members in ``table``, which are remembered for the next look."""
        claimed = {row.pid for row in table.values() if self._claims(row)}
        pids = with_descendants(table, claimed) - {os.getpid()}
        rows = tuple(table[pid] for pid in sorted(pids) if pid in table)
        self._seen = frozenset(row.identity for row in rows)
        self._sessions = frozenset(row.session for row in rows) - {os.getsid(0)}
        return rows

    def _claims(self, row: ProcessRow) -> bool:
        return (
            row.identity in self._seen
            or self._roots.get(row.pid) == row.identity
            or any(self._is_ours(mark) for mark in row.marks)
            or (row.session in self._sessions and not row.marks)
        )

    def _is_ours(self, mark: str) -> bool:
        return mark == self.marker or mark.startswith(f"{self.marker}.")
