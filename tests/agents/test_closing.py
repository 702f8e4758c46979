"""Closing goes on, whoever stops waiting for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.agents import AgentSpec, NoSuchAgent
from codex_actors.protocol import TaskInterrupted

from .support import open_tree, remember


async def test_a_closing_goes_on_though_its_caller_is_cancelled_at_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember([{"call": "slow", "args": {}}])) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        task = await child.assign("go")
        await trio.sleep(1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await child.close("somebody")
        await trio.sleep(60)

        assert (await task.wait()).outcome == TaskInterrupted("somebody")
        with pytest.raises(NoSuchAgent):
            tree.agent("/root/child")
