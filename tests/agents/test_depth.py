"""A long chain of agents, each the child of the one before."""

from __future__ import annotations

from pathlib import Path

import trio

from codex_actors.models import ScriptedModel
from codex_actors.protocol import TaskInterrupted

from .support import open_tree

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
