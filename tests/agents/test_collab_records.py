"""What the rollouts of a team say of the tools that it works together with."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from codex_actors.protocol import Generation, SessionMeta, ThreadId, TurnContext

from .team import DONE, Team, open_team, spawn, spawn2, wait2


async def versions(team: Team, thread_id: ThreadId) -> tuple[str | None, set[str | None]]:
    """What the first line says, and what the turns say."""
    rollout = await team.tree._commons.recorder.read(thread_id)
    payloads = [line.payload for line in rollout.lines]
    [meta] = [p for p in payloads if isinstance(p, SessionMeta)]
    return meta.multi_agent_version, {
        p.multi_agent_version for p in payloads if isinstance(p, TurnContext)
    }


@pytest.mark.parametrize(
    ("generation", "chosen", "root"), [("v1", False, None), ("v1", True, "v1"), ("v2", True, "v2")]
)
async def test_which_tools_a_thread_has(
    generation: Generation,
    chosen: bool,
    root: str | None,
    tmp_path: Path,
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_team(tmp_path, generation, chosen=chosen) as team:
        made = [spawn()] if generation == "v1" else [spawn2("a")]
        await team.play(made, *([] if generation == "v1" else [[wait2()]]), DONE)
        [child] = team.root.children
        await child.wait_idle()

        assert (root, {generation}) == await versions(team, team.root.thread_id)
        assert (generation, {generation}) == await versions(team, child.thread_id)


async def test_no_tools_at_all(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with open_team(tmp_path, None, chosen=True) as team:
        await team.play(DONE)

        assert ("disabled", {"disabled"}) == await versions(team, team.root.thread_id)
