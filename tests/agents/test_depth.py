"""A long chain of agents, each the child of the one before."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import trio
import trio.testing

from codex_actors.models import ScriptedModel
from codex_actors.protocol import TaskCompleted, TaskInterrupted

from .support import open_tree
from .test_tree_regressions import Clock, open_cursed_tree

GENERATIONS = 150


async def test_a_long_chain_lives_is_interrupted_and_cancelled(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with open_tree(tmp_path, ScriptedModel([{"sleep": 86_400}])) as tree:
            chain = [await tree.spawn()]
            for _ in range(GENERATIONS):
                chain.append(await chain[-1].spawn())
            tasks = [await agent.assign("Wait.") for agent in chain]
            await chain[-1].status.wait_value(lambda status: status == "running")
            await chain[0].interrupt()

            assert {TaskInterrupted("user")} == {task.record.get().outcome for task in tasks}

            tasks = [await agent.assign("Wait.") for agent in chain]
            await chain[-1].status.wait_value(lambda status: status == "running")
            scope.cancel()

    assert {TaskInterrupted("shutdown")} == {task.record.get().outcome for task in tasks}


async def test_whoever_waits_for_a_long_chain_to_come_up_needs_no_long_stack(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(), clock) as tree:
        chain = [await tree.spawn()]
        for _ in range(GENERATIONS):
            chain.append(await chain[-1].spawn())
        clock.curse("/root")
        task = await chain[0].assign("Crash.")
        await trio.sleep(0.5)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack(0)) + GENERATIONS - 10)
        try:
            last = await chain[-1].assign("Come up.")
        finally:
            sys.setrecursionlimit(limit)
        records = await tree.wait_all([task, last])

    assert [TaskCompleted("ok")] * 2 == [record.outcome for record in records]
