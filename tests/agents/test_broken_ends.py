"""An agent that crashes while its turn ends: no task stays open, and nobody seems to run on."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentServices, open_agents
from codex_actors.protocol import (
    Completed,
    TaskCompleted,
    TaskInterrupted,
    TextInput,
    TurnAborted,
    TurnCompleted,
    UserTurn,
)

from .breaking import Breaking, holds
from .support import remember, settings, toolbox


async def test_a_task_whose_end_could_not_be_written_is_run_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    recorder = Breaking(flush_breaks=holds(TurnCompleted))
    services = AgentServices(model=remember([{"say": "ok"}]), toolbox=toolbox, recorder=recorder)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        with trio.move_on_after(100):
            await task.wait()

        assert task.record.get().outcome == TaskCompleted("the script is over")
    assert recorder.broke


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


async def test_an_interrupted_task_is_not_run_again_though_its_end_could_not_be_written(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    recorder = Breaking(flush_breaks=holds(TurnAborted))
    model = remember([{"call": "slow", "args": {}}])
    services = AgentServices(model=model, toolbox=toolbox, recorder=recorder)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        await root.interrupt("somebody")
        await trio.sleep(100)

        assert task.record.get().outcome == TaskInterrupted("somebody")
        assert root.status.get() == "interrupted"
    assert len(model.prompts) == 1
