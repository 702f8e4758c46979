"""The commands that an agent runs, with what they need; there from the first command on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import final

import trio

from ..protocol import Settings
from ..sandbox import OutputSink, Process, Processes, ProcessSpec, open_processes
from ..tools import ExecSessions, exec_sessions
from ._home import Home
from ._leftovers import records_folder
from ._on_demand import OnDemand


@final
class Workshop:
    """An agent's processes.

    Args:
        home: The agent's nursery.
        settings: Say where running processes are noted, for whoever finds them after a
            kill -9.
    """

    def __init__(self, home: Home, settings: Settings) -> None:
        self._settings = settings
        self._processes: OnDemand[Processes] = OnDemand(home, self._open, "processes")
        self.sessions: ExecSessions = exec_sessions(self, home)

    @property
    def idle(self) -> bool:
        """Whether no process of the agent is known to live."""
        processes = self._processes.value
        if processes is None:
            return True
        counts = processes.statistics()
        return not counts.running and not counts.members

    async def look(self) -> None:
        """Have `idle` know also of what commands have left behind just now.

        Cancellation: nothing has happened.
        """
        processes = self._processes.value
        if processes is None:
            await trio.lowlevel.checkpoint()
        else:
            await processes.look()

    async def start(self, spec: ProcessSpec, output: OutputSink) -> Process:
        """See `Processes.start`.

        Raises:
            CannotTakeNotes: if it is the first, and where it runs cannot be noted.
        """
        processes = await self._processes.get()
        return await processes.start(spec, output)

    async def close(self) -> None:
        """Kill whatever runs.

        Cancellation: ends the waiting, not the killing.
        """
        await self._processes.close()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Processes, None]:
        async with open_processes(records=records_folder(self._settings)) as processes:
            try:
                yield processes
            finally:
                await self.sessions.kill_all()
