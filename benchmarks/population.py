"""One population of agents in one process; prints what it measured as JSON.

Started by `scale.py`: memory can only be measured in a process that did nothing before.
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from codex_actors import AgentHandle, AgentTree, Settings, Task, Toolbox, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    DangerFullAccess,
    Deadlines,
    ModelInfo,
    Provider,
    TaskCompleted,
    TaskInterrupted,
)

HANDS: Final = 100
"""Tasks that make agents at once."""
MODEL: Final = ScriptedModel([{"say": "Done."}], [{"sleep": 86_400}])
"""Ends the first turn of a thread at once, and lets the second wait."""


async def tree(root: AgentHandle, count: int, *, turn: bool) -> None:
    """A hundred children, and the others below these."""

    async def branch(size: int) -> None:
        child = await _make(root, turn=turn)
        for _ in range(size - 1):
            await _make(child, turn=turn)

    await _share(branch, count)


async def flat(root: AgentHandle, count: int, *, turn: bool) -> None:
    """All of them children of the root, made by a hundred tasks."""

    async def some(size: int) -> None:
        for _ in range(size):
            await _make(root, turn=turn)

    await _share(some, count)


async def chain(root: AgentHandle, count: int, *, turn: bool) -> None:
    """Each the child of the one before."""
    last = root
    for _ in range(count):
        last = await _make(last, turn=turn)


async def one_by_one(root: AgentHandle, count: int, *, turn: bool) -> None:
    """All of them children of the root, made by one task."""
    for _ in range(count):
        await _make(root, turn=turn)


SHAPES: Final = {shape.__name__: shape for shape in (tree, flat, chain, one_by_one)}


async def _make(owner: AgentHandle, *, turn: bool) -> AgentHandle:
    child = await owner.spawn()
    if turn:
        record = await (await child.assign("Are the tests well?")).wait()
        assert isinstance(record.outcome, TaskCompleted), record
    return child


async def _share(work: Callable[..., object], count: int) -> None:
    size = math.ceil(count / HANDS)
    async with trio.open_nursery() as nursery:
        for start in range(0, count, size):
            nursery.start_soon(work, min(size, count - start))  # type: ignore[arg-type]


async def spawn(shape: str, count: int) -> dict[str, float]:
    """Make agents that do nothing."""
    with _home() as home:
        async with _open_tree(home) as (_, root):
            watch = _Stopwatch()
            await SHAPES[shape](root, count, turn=False)
            return {"spawns": count / watch.seconds, "spawn_cpu": watch.cpu / count}


async def live(shape: str, count: int) -> dict[str, float]:
    """Make agents that do one turn each; let them all run; interrupt them; close them."""
    with _home() as home:
        return await _live(home, shape, count)


async def _live(home: str, shape: str, count: int) -> dict[str, float]:
    async with _open_tree(home) as (agents, root):
        idle, open_files = _resident(), _descriptors()
        watch = _Stopwatch()
        await SHAPES[shape](root, count, turn=True)
        numbers = {"turns": count / watch.seconds, "turn_cpu": watch.cpu / count}
        numbers |= {"rss": (_resident() - idle) / count, "files": _descriptors() - open_files}
        tasks = await _keep_busy(root)
        watch = _Stopwatch()
        await root.interrupt()
        numbers |= {"interrupt": watch.seconds, "interrupt_cpu": watch.cpu}
        _check_interrupted(agents, root, tasks)
        del tasks
        watch = _Stopwatch()
    # With the tree, its recorder: all rollouts are on the disk itself by then.
    return numbers | {"close": watch.seconds, "close_cpu": watch.cpu}


async def hold(shape: str, count: int) -> dict[str, float]:
    """Make agents that do one turn each, and see what Python has allocated for them."""
    with _home() as home:
        async with _open_tree(home) as (_, root):
            tracemalloc.start()
            await SHAPES[shape](root, count, turn=True)
            gc.collect()
            traced, _peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return {"traced": traced / count}


def _home() -> tempfile.TemporaryDirectory[str]:
    """A home for a tree. To take it away is nothing that the tree does."""
    return tempfile.TemporaryDirectory(prefix="bench-")


@asynccontextmanager
async def _open_tree(home: str) -> AsyncGenerator[tuple[AgentTree, AgentHandle], None]:
    """Open a tree whose root has finished a turn, with its rollouts on disk."""
    tools = Toolbox([])
    settings = Settings(
        model=ModelInfo(slug="bench"),
        provider=Provider(id="bench"),
        cwd=home,
        home=home,
        sandbox_policy=DangerFullAccess(),
        # A machine that does other things may be slow, and is to be measured all the same.
        deadlines=Deadlines(spawn=600, send=600, interrupt=600, close=600),
    )
    async with open_agents(settings, model=MODEL, toolbox=lambda _: tools) as agents:
        root = await agents.spawn()
        await (await root.assign("Are the tests well?")).wait()
        gc.collect()
        yield agents, root


async def _keep_busy(root: AgentHandle) -> list[Task]:
    """Give every agent a turn that waits for its model, and return when all of them do."""
    everybody = _everybody(root)
    tasks: list[Task] = []

    async def assign(some: Sequence[AgentHandle]) -> None:
        tasks.extend([await agent.assign("Wait.") for agent in some])

    async with trio.open_nursery() as nursery:
        for hand in range(HANDS):
            nursery.start_soon(assign, everybody[hand::HANDS])
    for agent in everybody:
        await agent.status.wait_value(lambda status: status == "running")
    await trio.sleep(0.5)  # the last of them have said so, and are about to ask their model
    return tasks


def _everybody(root: AgentHandle) -> list[AgentHandle]:
    found = [root]
    for agent in found:
        found.extend(agent.children)
    return found


def _check_interrupted(agents: AgentTree, root: AgentHandle, tasks: Sequence[Task]) -> None:
    """Every task has its outcome, every agent is idle, every rollout says so."""
    assert {task.record.get().outcome for task in tasks} == {TaskInterrupted("user")}
    assert {shown.status for shown in agents.snapshot()} == {"interrupted"}
    home = Path(str(root.settings.home))
    rollouts = list(home.rglob("rollout-*.jsonl"))
    assert len(rollouts) == len(tasks)
    assert all(b'"turn_aborted"' in path.read_bytes() for path in rollouts)


class _Stopwatch:
    """Tells the seconds since it was made, of the clock and of the processor."""

    def __init__(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def cpu(self) -> float:
        return time.process_time() - self._cpu_began


def _resident() -> int:
    """Bytes of memory that the process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def main() -> None:
    """Measure what the arguments say: spawn, live or hold; the shape; how many agents."""
    what, shape, count = sys.argv[1:]
    # What an entry point may do, and the library never does: see benchmarks/README.md.
    gc.collect()
    gc.freeze()
    gc.set_threshold(500_000, 10, 100)
    measure = {"spawn": spawn, "live": live, "hold": hold}[what]
    print(json.dumps(trio.run(measure, shape, int(count))))


if __name__ == "__main__":
    main()
