"""The processes of one agent: they end with it."""

from __future__ import annotations

import logging
import math
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, final

import attrs
import trio

from ._errors import ProcessesClosed
from ._family import Family
from ._killing import NOTICE_SECONDS, Survivor, kill_all, reap, scan, within
from ._nursery import open_hidden_nursery
from ._process import Process
from ._record import Record, open_record
from ._spec import OutputSink, ProcessSpec
from ._stand_ins import hold_stand_ins
from ._start import start
from ._subreaper import become_subreaper
from ._table import MARKER, Identity, ProcessRow, Table, read_row

logger = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 30.0
"""How often the family is looked at while processes run."""
SETTLE_SECONDS: Final = 1.0
"""How long after a start or an exit it is looked at; a look serves all within that time."""


@final
@attrs.frozen(kw_only=True)
class ProcessesStatistics:
    """What `Processes.statistics` returns."""

    started: int
    """Processes started so far."""
    running: int
    """Those of them that have not ended."""
    members: int
    """All processes that came from them and lived at the last look, seconds ago."""


@final
class Processes:
    """Starts processes and owns them. Made by `open_processes`."""

    def __init__(self, nursery: trio.Nursery, record: Record | None, name: str) -> None:
        self._nursery = nursery
        self._record = record
        self._family = Family(name)
        self._running: dict[int, Process] = {}
        self._kin: dict[int, Process] = {}
        self._count = 0
        self._members = 0
        self._starting = 0
        self._closing = False
        self._stirred = trio.Event()
        self._quieter = trio.lowlevel.ParkingLot()
        self._survivors: tuple[Survivor, ...] = ()

    def running(self) -> tuple[Process, ...]:
        """Those that have not exited, the oldest first."""
        return tuple(self._running.values())

    def statistics(self) -> ProcessesStatistics:
        """A snapshot for humans."""
        return ProcessesStatistics(
            started=self._count, running=len(self._running), members=self._members
        )

    def survivors(self) -> tuple[Survivor, ...]:
        """What could not be killed; known when the scope has been left."""
        return self._survivors

    async def look(self) -> None:
        """Have `statistics` know of all members that there are now, those left behind included.

        Cancellation: nothing has happened.
        """
        reap(await scan(self._look), owned=self._running)

    async def start(self, spec: ProcessSpec, output: OutputSink) -> Process:
        """Start a process; it runs until it ends, is killed, or the scope is left.

        Args:
            spec: What to run.
            output: Takes what it prints, both streams in the order of arrival.

        Raises:
            CouldNotStart: if the system refuses; nothing is running then.
            ProcessesClosed: if the scope has been left.

        Cancellation: only before the process exists.
        """
        await trio.lowlevel.checkpoint()
        if self._closing:
            raise ProcessesClosed(spec.argv[0])
        self._starting += 1
        try:
            with trio.CancelScope(shield=True):
                process = await self._start(spec, output)
        finally:
            self._starting -= 1
            self._quieter.unpark_all()
        return process

    async def _start(self, spec: ProcessSpec, output: OutputSink) -> Process:
        self._count += 1
        family = Family(f"{self._family.marker}.{self._count}")
        held = ExitStack()
        try:
            if spec.stand_ins:
                await trio.to_thread.run_sync(hold_stand_ins, held, spec, self._record)
            started = await start(spec, _with_marker(spec, family.marker))
        except BaseException:
            held.close()
            raise
        process = Process(spec, started, output, family)
        row = read_row(process.pid)
        identity = Identity(process.pid, row.identity.started if row is not None else 0)
        self._family.add_root(identity)
        family.add_root(identity)
        self._running[process.pid] = self._kin[process.pid] = process
        self._stirred.set()
        self._nursery.start_soon(self._serve, process, held, name=f"process {process.pid}")
        if self._record is not None:
            await self._record.add(identity, spec.argv[0])
        return process

    async def _serve(self, process: Process, held: ExitStack) -> None:
        try:
            await process._serve()
        finally:
            held.close()
            del self._running[process.pid]
            self._family.remove_root(process.pid)
            self._stirred.set()
            self._quieter.unpark_all()

    async def _tend(self) -> None:
        """Bury orphans that died, and remember those that live while they can be told."""
        while True:
            with trio.move_on_after(SWEEP_SECONDS if self._kin else math.inf):
                await self._stirred.wait()
            await trio.sleep(SETTLE_SECONDS)
            self._stirred = trio.Event()
            await self.look()

    def _look(self, table: Table) -> tuple[ProcessRow, ...]:
        for pid, process in list(self._kin.items()):
            if not process._family.members(table) and pid not in self._running:
                del self._kin[pid]
        members = self._family.members(table)
        self._members = sum(row.state != "Z" for row in members)
        return members

    async def _close(self) -> None:
        """Kill everything. Shielded, bounded, raises nothing."""
        self._closing = True
        with trio.CancelScope(shield=True):
            while self._starting:
                await self._quieter.park()
            if self._count:
                logger.debug("killing what %d processes have left running", self._count)
                self._survivors = await kill_all(self._family.members, owned=self._running)
            await self._let_go()
            for survivor in self._survivors:
                logger.warning("process %d could not be killed", survivor.pid)
            if self._record is not None and not self._survivors:
                await self._record.discard()

    async def _let_go(self) -> None:
        """Wait for those that were killed, and give up the others."""
        if not self._running:
            return
        for process in self.running():
            process._kill_group()
        await within(NOTICE_SECONDS, self._wait_idle)
        named = {survivor.pid for survivor in self._survivors}
        for process in self.running():
            process._scope.cancel(reason="it cannot be killed")
            if process.pid not in named:
                self._survivors += (Survivor(process.pid, process.spec.argv),)
        await self._wait_idle()

    async def _wait_idle(self) -> None:
        while self._running:
            await self._quieter.park()


@asynccontextmanager
async def open_processes(*, records: Path | None = None) -> AsyncGenerator[Processes, None]:
    """Open a scope for the processes of an agent; leaving it kills them all.

    *All* means with all descendants: those that ignore signals, those that are
    stopped, and daemons that left their session and their parents. For the
    sake of the latter this program becomes the parent of orphans, from now
    until it ends (Linux only; elsewhere, a daemon that leaves its process
    group gets away).

    Args:
        records: A directory where the scope leaves a note, so that
            `find_leftovers` finds its processes if this program is killed.
            Made if it does not exist.

    Raises:
        CannotTakeNotes: if the note cannot be written.
        ProcessesCrashed: if serving a process failed, as when a sink raises.

    Cancellation: the killing is shielded and takes seven seconds at most. What
    could not be killed is in `Processes.survivors`.
    """
    become_subreaper()
    name = secrets.token_hex(8)
    record = await open_record(records, name) if records is not None else None
    async with open_hidden_nursery() as nursery:
        processes = Processes(nursery, record, name)
        nursery.start_soon(processes._tend)
        try:
            yield processes
        finally:
            await processes._close()


def _with_marker(spec: ProcessSpec, marker: str) -> dict[str, str]:
    """The environment, marked; marks of scopes around this program stay in it."""
    outer = os.environ.get(MARKER)
    return {**spec.env, MARKER: f"{outer}:{marker}" if outer else marker}
