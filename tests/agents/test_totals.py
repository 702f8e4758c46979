"""What all agents of a tree have used together."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentSpec, open_agents
from codex_actors.protocol import TokenUsage

from .support import remember, settings, toolbox
from .team import DONE, KID, open_team, script, spawn, v1, wait

EACH = TokenUsage(input_tokens=100, cached_input_tokens=20, output_tokens=10, total_tokens=110)
"""What a response of a scripted model takes."""


def times(count: int) -> TokenUsage:
    return sum([EACH] * count, TokenUsage())


async def test_who_was_closed_or_came_back_counts_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        assert TokenUsage() == team.tree.usage
        await team.play([spawn()], [wait("$r0c0.agent_id")], DONE)
        assert times(4) == team.tree.usage
        assert times(3) == team.root.usage.total_token_usage
        [child] = team.root.children
        await child.close()
        assert times(4) == team.tree.usage
        resume = v1("resume_agent", id=child.thread_id)
        again = v1("send_input", target=child.thread_id, message=KID)
        await team.play([resume], [again], [wait(child.thread_id)], DONE)

        assert times(9) == team.tree.usage


async def test_a_running_turn_counts_as_far_as_it_is(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        late = [{"sleep": 1000}, {"say": "late"}]
        task = await team.root.assign(script([{"call": "slow", "args": {}}], late))
        await trio.sleep(700)  # the tool takes ten minutes
        assert times(1) == team.tree.usage
        await task.wait()

        assert times(2) == team.tree.usage


async def test_a_resumed_tree_knows_what_it_had_used(tmp_path: Path) -> None:
    config = settings(tmp_path, ephemeral=False)
    async with open_agents(config, model=remember(), toolbox=toolbox) as tree:
        root = await tree.spawn()
        await (await root.assign("hi")).wait()
        for name in ("kept", "closed"):
            child = await root.spawn(AgentSpec(name=name))
            await (await child.assign("hi")).wait()
        await child.close()
        before = tree.usage
    async with open_agents(config, model=remember(), toolbox=toolbox) as tree:
        await tree.spawn(AgentSpec(resume=root.thread_id))

        assert times(3) == before == tree.usage
