"""A disk that refuses the journal for a while: what was told then is what is written later."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.agents import AgentServices, AgentSpec, open_agents
from codex_actors.protocol import Event, Letter, TaskCompleted, TaskId, TaskOutcome
from codex_actors.rollout import JournalRefused

from .faulty import Ledger, journal_on
from .support import remember, settings, toolbox

SLOW = 'SCRIPT [[{"call": "slow", "args": {}}], [{"say": "slowly"}]]'


def services(ledger: Ledger) -> AgentServices:
    return AgentServices(model=remember(), toolbox=toolbox, journal=journal_on(ledger))


async def test_outcomes_that_were_refused_together_are_written_with_the_next_one(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Each was written by whoever wrote another, and the last found its own gone."""
    ledger = Ledger()
    given = services(ledger)
    assert given.journal is not None
    async with open_agents(settings(tmp_path), services=given) as tree:
        root = await tree.spawn()
        agents = [root, *[await root.spawn() for _ in range(3)]]
        tasks = [await agent.assign(SLOW) for agent in agents]
        await trio.sleep(300)
        ledger.refusals = 1000
        told = [await task.wait() for task in tasks]
        await trio.sleep(1)
        ledger.refusals = 0
        last = await (await root.assign('SCRIPT [[{"say": "ok"}]]')).wait()

        assert [TaskCompleted("slowly")] * 4 == [record.outcome for record in told]
        assert last.outcome == TaskCompleted("ok")
        assert () == given.journal.unsettled()
        assert [TaskCompleted("slowly")] * 4 == [_written(given, task.id) for task in tasks]


async def test_spawn_assign_and_send_fail_and_nothing_has_happened(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """What has not happened yet does not happen, unlike the end of what has."""
    ledger = Ledger()
    given = services(ledger)
    assert given.journal is not None
    opening = open_agents(settings(tmp_path), services=given)
    async with opening as tree, tree.events() as events:
        root = await tree.spawn()
        before = given.journal.state
        ledger.refusals = 1000
        with pytest.raises(JournalRefused, match="no space left"):
            await root.spawn(AgentSpec(name="child"))
        with pytest.raises(JournalRefused):
            await root.assign("go")
        with pytest.raises(JournalRefused):
            await root.send(Letter(text="wake up", trigger=True))
        ledger.refusals = 0
        await given.journal.catch_up()
        await trio.sleep(10)

        assert before == given.journal.state
        [alone] = tree.snapshot()
        assert ((), "pending_init", 0) == (root.children, alone.status, alone.letters)
        with trio.move_on_after(1):
            async for event in events:
                assert isinstance(event, Event)
                assert root.path == event.path  # nobody else began
        await root.spawn(AgentSpec(name="child"))  # the name is free


async def test_the_end_of_the_tree_writes_what_was_told_and_not_what_it_would_say_itself(
    tmp_path: Path,
) -> None:
    ledger = Ledger()
    given = services(ledger)
    async with open_agents(settings(tmp_path), services=given) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        ledger.refusals = 1000
        record = await task.wait()
        ledger.refusals = 0

    assert given.journal is not None
    await given.journal.catch_up()
    assert record.outcome == TaskCompleted("ok")
    assert record.outcome == _written(given, task.id)


async def test_an_agent_that_was_closed_while_the_disk_refused_does_not_come_back(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    ledger = Ledger()
    given = services(ledger)
    assert given.journal is not None
    async with open_agents(settings(tmp_path), services=given) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        ledger.refusals = 1000
        await child.close()
        ledger.refusals = 0

    await given.journal.catch_up()
    assert child.thread_id not in given.journal.agents
    assert [root.thread_id] == list(given.journal.agents)


def _written(given: AgentServices, task_id: TaskId) -> TaskOutcome | None:
    assert given.journal is not None
    return given.journal.state.tasks[task_id].outcome
