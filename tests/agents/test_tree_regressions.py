"""What went wrong with trees once, found by tests/agents/test_tree_stateful.py."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentSpec
from codex_actors.models import ScriptedModel
from codex_actors.protocol import Capacity, TaskFailed
from tests.agents.support import open_tree

SLOW = [{"call": "slow"}]


async def test_spawn_in_a_full_house(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """An agent that is made needs no room yet; its first turn does, and says who has it."""
    model = ScriptedModel(SLOW)
    async with open_tree(tmp_path, model, capacity=Capacity(loaded=1)) as tree:
        root = await tree.spawn()
        await root.assign("work")
        await trio.sleep(1)
        child = await root.spawn(AgentSpec(name="child"))
        record = await (await child.assign("work too")).wait()

        assert isinstance(record.outcome, TaskFailed)
        assert "1 are loaded and busy, /root;" in record.outcome.message
