"""Agents that cannot start say why, in the words of what kept them from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.agents import AgentServices, open_agents

from .breaking import Breaking
from .support import remember, settings, toolbox


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
