from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.agents._collab_standing import standing, wait_rested
from codex_actors.protocol import Completed, Errored, Limits

from .team import KID, open_team, script, v1, wait


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("checkpoints", range(3))
async def test_no_end_is_missed_whenever_it_comes(
    checkpoints: int, shift: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        child = await team.root.spawn()
        commons = team.tree._commons
        desk, status = commons.desks[child.thread_id], commons.hub.status(child.thread_id)
        desk.busy.set(value=True)
        status.set("running")

        async def end() -> None:
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            desk.busy.set(value=False)
            status.set(Completed("done"))

        for _ in range(shift):  # another order of tasks in what follows
            await trio.lowlevel.checkpoint()
        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(end)
                found = await wait_rested(commons, [desk])

    assert {child.thread_id: Completed("done")} == found


async def test_a_task_that_no_turn_could_take_up_is_shown_as_failed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A refusal changes no status, for there was no turn; the task has its end all the same."""
    async with open_team(tmp_path, settings={"limits": Limits(turns=2)}) as team:
        first = await team.play([v1("spawn_agent", message=KID)], [wait("$r0c0.agent_id")])
        child = first.json("r0c0")["agent_id"]
        agent = team.tree.agent(child)
        task = await agent.assign(script([{"say": "never said"}]))
        await task.wait()
        commons = team.tree._commons
        shown = standing(commons, commons.desks[agent.thread_id])

    assert isinstance(shown, Errored)
    assert "over budget" in shown.message
