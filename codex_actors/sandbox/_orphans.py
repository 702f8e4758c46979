"""The last net: what comes to a program and belongs to nobody dies with the program."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, final

import trio

from ._killing import Survivor, below_us, kill_all, reap, scan
from ._nursery import open_hidden_nursery
from ._subreaper import become_subreaper
from ._table import Identity, ProcessRow, Table, with_descendants

BURIAL_SECONDS: Final = 30.0
"""How often dead orphans that nobody knows are looked for."""


@final
class Orphans:
    """What `adopt_orphans` has left. Made by `adopt_orphans`."""

    def __init__(self, before: frozenset[Identity]) -> None:
        self._before = before
        self._survivors: tuple[Survivor, ...] = ()

    def survivors(self) -> tuple[Survivor, ...]:
        """What could not be killed; known when the block has been left."""
        return self._survivors

    def _strangers(self, table: Table) -> Sequence[ProcessRow]:
        """Children in other sessions than ours that were not there before, and what is below."""
        me = os.getpid()
        found = {
            row.pid
            for row in table.values()
            if row.parent == me and row.session != os.getsid(0) and row.identity not in self._before
        }
        return [table[pid] for pid in with_descendants(table, found) if pid in table]

    async def _tend(self) -> None:
        """Bury strangers that nobody has buried between two looks.

        One look is not enough: a process that has just exited is buried by
        whoever started it.
        """
        dead: frozenset[Identity] = frozenset()
        while True:
            await trio.sleep(BURIAL_SECONDS)
            rows = [row for row in await scan(self._strangers) if row.state == "Z"]
            reap([row for row in rows if row.identity in dead], owned=())
            dead = frozenset(row.identity for row in rows)

    async def _close(self) -> None:
        self._survivors = await kill_all(self._strangers, owned=())


@asynccontextmanager
async def adopt_orphans() -> AsyncGenerator[Orphans, None]:
    """Wrap a whole program, so that leaving it leaves nothing behind.

    Every scope of `open_processes` kills what it can tell to be its own. A
    daemon that cleared its environment and left its session before anybody
    saw it is nobody's; the kernel gives it to this program. Leaving this block
    kills all children that are in sessions of their own and were not there
    when it was entered. So enter it first, in a program whose other children,
    if any, stay in its session or have ended by then.

    While the block runs, dead strangers are buried, as init would do.

    Where the kernel cannot give orphans to a program (not Linux), there is
    nothing to find.

    Cancellation: the killing is shielded and takes six seconds at most.
    """
    become_subreaper()
    table = await trio.to_thread.run_sync(below_us)
    orphans = Orphans(frozenset(row.identity for row in table.values()))
    async with open_hidden_nursery() as nursery:
        nursery.start_soon(orphans._tend)
        try:
            yield orphans
        finally:
            await orphans._close()
