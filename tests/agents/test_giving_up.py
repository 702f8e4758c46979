"""Whoever stops waiting for a call leaves nothing behind that nobody works on."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentHandle, AgentServices, AgentSpec, open_agents
from codex_actors.protocol import TaskInterrupted

from .faulty import LATENCY, Ledger, journal_on
from .support import remember, settings, toolbox


async def test_a_task_does_not_stay_open_when_agent_and_giver_go_while_it_is_written(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    async def give(child: AgentHandle) -> None:
        with trio.move_on_after(LATENCY):
            await child.assign("go", reply_to=root)

    journal = journal_on(Ledger())
    services = AgentServices(model=remember(), toolbox=toolbox, journal=journal)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        async with trio.open_nursery() as nursery:
            # Somebody is at the journal already, so that the task is written after that.
            nursery.start_soon(root.send, "hello")
            await trio.sleep(LATENCY / 2)
            nursery.start_soon(give, child)
            await trio.sleep(LATENCY / 4)
            await child.close()
        await trio.sleep(10)

        assert 1 == len(journal.state.tasks)
        assert () == journal.unsettled()


async def test_a_task_that_was_written_for_a_giver_who_is_gone_ends_and_is_not_forgotten(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    journal = journal_on(Ledger())
    services = AgentServices(model=remember(), toolbox=toolbox, journal=journal)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        async with trio.open_nursery() as nursery:
            # Who comes while somebody writes is written for by one of those who came as well.
            for text in ("one", "two"):
                nursery.start_soon(root.send, text)
            await trio.sleep(LATENCY / 2)
            with trio.move_on_after(LATENCY):
                await root.assign("go")
        await trio.sleep(10)

        assert () == journal.unsettled()


async def test_a_task_that_never_came_to_its_agent_ends(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    journal = journal_on(Ledger())
    model = remember()
    services = AgentServices(model=model, toolbox=toolbox, journal=journal)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        with trio.move_on_after(LATENCY / 2):
            await root.assign("go")
        await trio.sleep(10)
        [record] = journal.state.tasks.values()

        assert record.outcome == TaskInterrupted("user")
        assert [] == model.prompts
