"""An agent's surroundings, as far as tools see them."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, final

import attrs

from codex_actors.protocol import (
    CommandItem,
    DangerFullAccess,
    EventMsg,
    FileChangeItem,
    ItemCompleted,
    ItemStarted,
    ModelInfo,
    Provider,
    Settings,
    ToolCall,
    ToolOutput,
)
from codex_actors.sandbox import open_processes
from codex_actors.tools import (
    ExecSessions,
    Guard,
    Toolbox,
    ToolContext,
    TurnChanges,
    open_exec_sessions,
    standard_toolbox,
)
from codex_actors.tools._sessions import ProcessStarter

E = TypeVar("E")


def timeless(text: str) -> str:
    """What is said, without how long it took: that says how busy the machine is."""
    return re.sub(r"Wall time: [\d.]+ seconds", "Wall time: <t> seconds", text)


def make_settings(cwd: Path, **changes: Any) -> Settings:
    plain = Settings(
        model=ModelInfo(slug="mock-model", apply_patch="freeform"),
        provider=Provider(id="mock"),
        cwd=str(cwd),
        home=str(cwd / ".home"),
        sandbox_policy=DangerFullAccess(),
        environment={"PATH": os.environ["PATH"], "HOME": str(cwd)},
    )
    return attrs.evolve(plain, **changes)


@final
@attrs.define(eq=False)
class World:
    """Runs calls, and remembers what was announced."""

    settings: Settings
    sessions: ExecSessions
    changes: TurnChanges = attrs.field(factory=TurnChanges)
    events: list[EventMsg] = attrs.field(factory=list)
    now: Callable[[], float] = lambda: 1.0
    guard: Guard | None = None
    """None: the one that asks nobody."""
    _numbers: itertools.count[int] = attrs.field(factory=itertools.count)

    @property
    def context(self) -> ToolContext:
        plain = ToolContext(
            settings=self.settings,
            thread_id="thread",
            turn_id="turn",
            announce=self.events.append,
            now=self.now,
            sessions=self.sessions,
            changes=self.changes,
        )
        return plain if self.guard is None else attrs.evolve(plain, guard=self.guard)

    @property
    def toolbox(self) -> Toolbox:
        return standard_toolbox(self.settings)

    async def call(self, tool: str, **arguments: Any) -> ToolOutput:
        return await self.send(tool, json.dumps(arguments))

    async def send(self, tool: str, arguments: str) -> ToolOutput:
        return await self._run(
            ToolCall(call_id=f"c{next(self._numbers)}", name=tool, arguments=arguments)
        )

    async def patch(self, text: str) -> ToolOutput:
        """Run a patch in the freeform way."""
        call = ToolCall(
            call_id=f"c{next(self._numbers)}", name="apply_patch", arguments=text, kind="custom"
        )
        return await self._run(call)

    async def _run(self, call: ToolCall) -> ToolOutput:
        return await self.toolbox.run(call, self.context)

    def commands(self) -> list[CommandItem]:
        """Commands whose end was announced."""
        ended = [event.item for event in self.events if isinstance(event, ItemCompleted)]
        return [item for item in ended if isinstance(item, CommandItem)]

    def patches(self) -> list[tuple[str, list[str]]]:
        """What was announced of patches: progress, and the paths below the working directory."""
        items = [e.item for e in self.events if isinstance(e, ItemStarted | ItemCompleted)]
        return [
            (item.status, [os.path.relpath(path, self.settings.cwd) for path in item.changes])
            for item in items
            if isinstance(item, FileChangeItem)
        ]


@asynccontextmanager
async def open_world(
    cwd: Path, *, processes: ProcessStarter | None = None, **changes: Any
) -> AsyncGenerator[World, None]:
    """A world with real processes, unless others are given."""
    numbers = itertools.count(1000)
    async with (
        open_processes() as real,
        open_exec_sessions(
            processes or real,
            new_session_id=lambda: next(numbers),
            new_chunk_id=lambda: "abc123",
        ) as sessions,
    ):
        yield World(make_settings(cwd, **changes), sessions)
