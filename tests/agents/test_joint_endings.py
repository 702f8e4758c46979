"""Turns that are interrupted together, when one of them is cut off while it waits for the rest."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentServices, AgentSpec, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import Event, TaskInterrupted, TurnAborted

from .faulty import Disk
from .support import settings, toolbox

STUBBORN = 'SCRIPT [[{"call": "stubborn", "args": {}}]]'
SLOW = 'SCRIPT [[{"call": "slow", "args": {}}]]'


async def test_an_end_is_told_once_by_an_agent_that_is_cut_off_while_it_waits_for_others(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, schedule: int
) -> None:
    async with open_agents(settings(tmp_path), model=ScriptedModel(), toolbox=toolbox) as tree:
        root = await tree.spawn()
        quick = await root.spawn(AgentSpec(name="quick", grace=0.5))
        stubborn = await root.spawn(AgentSpec(name="stubborn"))
        first, _ = await quick.assign(SLOW, reply_to=root), await stubborn.assign(STUBBORN)
        await trio.sleep(1)
        async with tree.events() as events:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(root.interrupt)
                await trio.sleep(1)  # the quick one waits for the stubborn one now
                nursery.start_soon(quick.close)
            told: list[Event] = []
            with trio.move_on_after(1):
                async for event in events:
                    assert isinstance(event, Event)
                    told.append(event)

        assert first.record.get().outcome == TaskInterrupted("user")
        ends = [e.path.name for e in told if isinstance(e.msg, TurnAborted)]
        assert ["quick", "stubborn"] == sorted(ends)
        assert [first.id] == list(root._desk.box)
        assert root._commons.hub.settled == 2


async def test_turns_that_are_interrupted_together_are_one_flush(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, schedule: int
) -> None:
    disk = Disk()
    services = AgentServices(model=ScriptedModel(), toolbox=toolbox, recorder=disk)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        agents = [root, *[await root.spawn() for _ in range(5)]]
        tasks = [await each.assign(SLOW) for each in agents]
        await trio.sleep(1)
        before = disk.syncs
        await root.interrupt()

        assert [TaskInterrupted("user")] * 6 == [task.record.get().outcome for task in tasks]
        assert 1 == disk.syncs - before
