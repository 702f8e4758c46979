"""An agent that crashes while its turn ends: no task stays open, and nobody seems to run on."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentServices, open_agents
from codex_actors.protocol import (
    Completed,
    TextInput,
    TurnCompleted,
    UserTurn,
)

from .breaking import Breaking, holds
from .support import remember, settings, toolbox


async def test_a_turn_whose_end_was_recorded_and_not_told_is_told_when_the_agent_is_back(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    recorder = Breaking(flush_breaks=holds(TurnCompleted))
    model = remember([{"say": "ok"}])
    services = AgentServices(model=model, toolbox=toolbox, recorder=recorder)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        await root.submit(UserTurn(items=(TextInput("go"),)))
        await trio.sleep(100)

        assert root.status.get() == Completed("ok")
