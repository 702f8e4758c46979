"""Agents that cannot start say why, in the words of what kept them from it."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from codex_actors.agents import AgentServices, AgentSpec, NoRoom, open_agents
from codex_actors.protocol import Capacity

from .breaking import Breaking
from .support import open_tree, remember, settings, toolbox


async def test_a_child_that_finds_no_room_says_so(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}])
    async with open_tree(tmp_path, model, capacity=Capacity(loaded=1)) as tree:
        root = await tree.spawn()
        await root.assign("go")
        await trio.sleep(1)
        with pytest.raises(NoRoom):
            await root.spawn(AgentSpec(name="child"))


async def test_a_start_that_runs_into_a_bug_raises_it_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    recorder = Breaking(append_breaks=lambda _: True)
    services = AgentServices(model=remember(), toolbox=toolbox, recorder=recorder)
    async with open_agents(settings(tmp_path), services=services) as tree:
        with pytest.raises(RuntimeError, match="boom"):
            await tree.spawn()
        root = await tree.spawn()

        assert root.path.text == "/root"
