"""What went wrong with trees once, found by tests/agents/test_tree_stateful.py."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio._core._run
import trio.testing

from codex_actors.actors import ActorTerminated, Restart
from codex_actors.agents import AgentServices, AgentSpec, AgentTree, open_agents
from codex_actors.models import ModelClient, ScriptedModel
from codex_actors.protocol import (
    Capacity,
    Completed,
    EventLine,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    ThreadId,
    TurnAborted,
)
from codex_actors.rollout import Rollout, UnreadableRollout
from tests.agents.faulty import Disk
from tests.agents.support import open_tree, remember, settings, toolbox
from tests.agents.tree_driver import PromptThreads

SLOW = [{"call": "slow"}]


class Clock:
    """A clock whose sight makes some agents crash."""

    def __init__(self) -> None:
        self.cursed: dict[str, int] = {}

    def now(self) -> float:
        name = trio.lowlevel.current_task().name
        if name in self.cursed:
            self.cursed[name] -= 1
            if self.cursed[name] < 0:
                del self.cursed[name]
                raise RuntimeError(f"{name} crashes")
        return 1_700_000_000 + trio.current_time()

    def curse(self, path: str, looks: int = 0) -> None:
        """Have the agent crash when it looks at the clock after so many times."""
        self.cursed[f"driver of {path}"] = looks


@asynccontextmanager
async def open_cursed_tree(
    home: Path, model: ModelClient, clock: Clock, **changes: Any
) -> AsyncGenerator[AgentTree, None]:
    services = AgentServices(model=model, toolbox=toolbox, now=clock.now)
    async with open_agents(settings(home, **changes), services=services) as tree:
        yield tree


@pytest.fixture(params=range(8))
def order(request: pytest.FixtureRequest, schedule: int) -> int:
    """Run the test under several orders of task switches."""
    trio._core._run._r.seed(request.param)
    number: int = request.param
    return number


async def test_spawn_in_a_full_house(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """An agent that is made needs no room yet; its first turn does, and says who has it."""
    model = ScriptedModel(SLOW)
    async with open_tree(tmp_path, model, capacity=Capacity(loaded=1)) as tree:
        root = await tree.spawn()
        await root.assign("work")
        await trio.sleep(1)
        child = await root.spawn(AgentSpec(name="child"))
        record = await (await child.assign("work too")).wait()

        assert isinstance(record.outcome, TaskFailed)
        assert "1 are loaded and busy, /root;" in record.outcome.message


async def test_crash_of_an_owner(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int
) -> None:
    """A child that goes down with its owner takes up its task when it comes up again."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW, [{"say": "ok"}]), clock) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        task = await child.assign("work")
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        record = await task.wait()

        assert record.outcome == TaskCompleted("ok")


@pytest.mark.parametrize("first", [True, False])
async def test_spawn_while_the_owner_crashes(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, first: bool
) -> None:
    """Whoever asked is told in the words of the page, or has the child."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        if first:
            await root.spawn(AgentSpec(name="first"))
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        for steps in range(12):
            with suppress(ActorTerminated):
                await root.spawn(AgentSpec(name=f"later-{steps}"))
        await trio.sleep(60)
        children = {child.path.text: child.status.get() for child in root.children}

        assert len(children) == len(tree.snapshot()) - 1
        assert "shutdown" not in children.values()


@pytest.mark.parametrize("looks", range(8))
async def test_crash_at_the_end_of_a_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, looks: int
) -> None:
    """Nobody was told of that end, so the turn is run again."""
    clock = Clock()
    model = ScriptedModel([{"sleep": 10}, {"say": "ok"}], [{"say": "ok"}])
    async with open_cursed_tree(tmp_path, model, clock) as tree:
        task = await (await tree.spawn()).assign("work")
        await trio.sleep(1)
        clock.curse("/root", looks)
        with trio.move_on_after(60):
            await task.wait()

        assert task.record.get().outcome == TaskCompleted("ok")


@pytest.mark.parametrize("looks", range(3))
async def test_crash_in_an_interrupt(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, looks: int
) -> None:
    """What somebody has interrupted is not run again."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        task = await root.assign("work")
        await trio.sleep(1)
        clock.curse("/root", looks)
        await root.interrupt("me")
        await trio.sleep(10)

        assert task.record.get().outcome == TaskInterrupted("me")


async def test_interrupt_of_one_that_has_ended(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Whoever has ended is idle, though it had more to do."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child", restart=Restart.TEMPORARY))
        tasks = [await child.assign("work") for _ in range(2)]
        await trio.sleep(1)
        clock.curse("/root/child")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.interrupt)
            nursery.start_soon(child.interrupt)
        await child.interrupt()

        assert "shutdown" == child.status.get()
        assert all(task.record.get().outcome is not None for task in tasks)


async def test_interrupt_beside_new_tasks(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Whoever interrupts waits for what was interrupted, not for what was given after that."""
    model = ScriptedModel([{"call": "stubborn"}], SLOW)
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        tasks = [await root.assign("work") for _ in range(3)]
        await trio.sleep(1)
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(root.interrupt, "me")
                await trio.sleep(1)
                later = [await agent.assign("go on") for agent in (root, child)]

        assert 3 * [TaskInterrupted("me")] == [task.record.get().outcome for task in tasks]
        assert 2 * [None] == [task.record.get().outcome for task in later]


@pytest.mark.parametrize("looks", range(3))
async def test_close_below_a_crash(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, looks: int
) -> None:
    """A child that is down with its owner can be closed, and does not come up again."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        children = [await root.spawn() for _ in range(8)]
        tasks = [await child.assign("work") for child in children]
        await trio.sleep(1)
        clock.curse("/root", looks)
        await root.assign("crash")
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for child in children:
                    for _ in range(3):
                        await trio.lowlevel.checkpoint()
                    nursery.start_soon(child.close, "me")

        assert () == root.children
        assert {TaskInterrupted("me")} == {task.record.get().outcome for task in tasks}


async def test_status_of_a_root_that_is_resumed(tmp_path: Path) -> None:
    """It is what it was, as that of every other agent."""
    async with open_tree(tmp_path, ScriptedModel([{"say": "ok"}]), ephemeral=False) as tree:
        root = await tree.spawn()
        await (await root.assign("work")).wait()
        await root.status.wait_value(lambda status: status != "running")
    async with open_tree(tmp_path, ScriptedModel(), ephemeral=False) as tree:
        root = await tree.spawn(AgentSpec(resume=root.thread_id))

        assert Completed("ok") == root.status.get()


@pytest.mark.parametrize("steps", range(5))
async def test_letters_below_a_crash(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, steps: int
) -> None:
    """Who goes down with the owner of its owner has not ended: letters wait for it."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        owner = await root.spawn(AgentSpec(name="owner"))
        leaf = await owner.spawn(AgentSpec(name="leaf"))
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        for _ in range(4):
            await leaf.send("a letter")
        await trio.sleep(60)

        assert [0, 0, 4] == [shown.letters for shown in tree.snapshot()]


async def test_crash_while_the_owner_crashes(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int
) -> None:
    """A child that crashes when it is brought down comes up again with its owner."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        await child.assign("work")
        await trio.sleep(1)
        clock.curse("/root")
        clock.curse("/root/child")
        await root.assign("crash")
        await trio.sleep(60)

        assert (child,) == root.children
        assert {} == clock.cursed


@pytest.mark.parametrize("looks", range(3))
async def test_crash_for_good_while_the_owner_comes_up_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, looks: int
) -> None:
    """Who was brought up already, and then crashes for good, is not waited for."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        owner = await root.spawn(AgentSpec(name="owner"))
        leaf = await owner.spawn(AgentSpec(name="leaf", restart=Restart.TEMPORARY))
        beside = [await owner.spawn() for _ in range(3)]
        task = await leaf.assign("work")
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        await trio.sleep(0.5)
        clock.curse("/root/owner/leaf", looks)
        await trio.sleep(60)

        assert isinstance(task.record.get().outcome, TaskFailed)
        assert [root, owner, *beside] == [tree.agent(a.thread_id) for a in tree.snapshot()]


@pytest.mark.parametrize("how", ["cancelled", "left with an exception"])
async def test_turns_of_a_tree_that_ends_are_not_taken_for_those_of_an_owner_that_crashed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, how: str
) -> None:
    recorder = Disk()
    services = AgentServices(model=ScriptedModel(SLOW), toolbox=toolbox, recorder=recorder)
    tasks = []
    with trio.CancelScope() as scope, suppress(ZeroDivisionError):
        async with open_agents(settings(tmp_path), services=services) as tree:
            agent = await tree.spawn()
            for _ in range(3):
                tasks.append(await agent.assign("work"))
                agent = await agent.spawn()
            await trio.sleep(1)
            if how == "cancelled":
                scope.cancel()
                await trio.sleep_forever()
            raise ZeroDivisionError
    lines = [line for lines in recorder.lines.values() for line in lines]
    ends = [line.msg for line in lines if isinstance(line, EventLine)]

    assert ["shutdown"] * 3 == [e.interrupted_by for e in ends if isinstance(e, TurnAborted)]
    assert [TaskInterrupted("shutdown")] * 3 == [task.record.get().outcome for task in tasks]


@pytest.mark.parametrize("steps", range(6))
async def test_interrupt_of_one_that_goes_down_with_its_owner(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, steps: int
) -> None:
    """Its task is not run again, and says who has seen to that."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        task = await child.assign("work")
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        await root.interrupt("me")
        await trio.sleep(60)

        assert task.record.get().outcome == TaskInterrupted("me")


@pytest.mark.parametrize("steps", range(6))
async def test_interrupt_of_what_was_given_to_one_that_is_down(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, steps: int
) -> None:
    """What lies unread ends as well: it was given before, and its giver may be gone."""
    clock = Clock()
    async with open_cursed_tree(tmp_path, ScriptedModel(SLOW), clock) as tree:
        root = await tree.spawn()
        await trio.sleep(1)
        clock.curse("/root")
        await root.assign("crash")
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        with trio.move_on_after(0.5):
            await root.assign("work")
        await root.interrupt("me")
        await trio.sleep(60)

        assert "running" != root.status.get()
        assert () == tree._commons.books.journal.unsettled()


class Losing(Disk):
    """A disk that loses what it has of some threads."""

    lost: frozenset[ThreadId] = frozenset()

    async def read(self, thread_id: ThreadId) -> Rollout:
        if thread_id in self.lost:
            await trio.lowlevel.checkpoint()
            raise UnreadableRollout("its rollout is gone")
        return await super().read(thread_id)


@pytest.mark.parametrize("whose", ["its owner's", "its own"])
async def test_crash_with_a_rollout_that_is_gone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, order: int, whose: str
) -> None:
    """It is the matter of the agent whose rollout it is: its turns fail, and say why."""
    clock, disk = Clock(), Losing()
    services = AgentServices(
        model=ScriptedModel(SLOW), toolbox=toolbox, now=clock.now, recorder=disk
    )
    async with open_agents(settings(tmp_path), services=services) as tree:
        owner = await tree.spawn()
        child = await owner.spawn(AgentSpec(name="child"))
        beside = await owner.spawn(AgentSpec(name="beside"))
        tasks = [await child.assign("work"), await beside.assign("work")]
        await trio.sleep(1)
        disk.lost = frozenset([child.thread_id])
        clock.curse("/root" if whose == "its owner's" else "/root/child")
        await owner.assign("crash, if that is to be you")
        await trio.sleep(1000)

        assert tasks[0].record.get().outcome == TaskFailed("its rollout is gone")
        assert isinstance(tasks[1].record.get().outcome, TaskCompleted)
        assert (child, beside) == owner.children
        assert "interrupted" == child.status.get()


async def test_letters_around_a_final_answer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A letter that came too late for the turn is read before those after it.

    A tool call opens the turn again that had its final answer.
    """
    model = remember(
        [{"sleep": 2}, {"say": "done"}],
        [{"sleep": 2}, {"call": "hi"}],
        [{"sleep": 2}, {"say": "done"}],
    )
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("work")
        for number in range(3):
            await trio.sleep(1)
            await root.send(f"letter {number}")
            await trio.sleep(1)
        await task.wait()
        await (await root.assign("read")).wait()
        text = "".join(getattr(item, "text", "") for item in model.items(-1))

        assert [f"letter {n}" for n in range(3)] == re.findall(r"letter \d", text)


def test_crash_of_a_resumed_agent(tmp_path: Path) -> None:
    """What its turn ended as is told when it comes up again, not when it is needed next."""
    clock = Clock()

    async def main() -> None:
        async with open_cursed_tree(tmp_path, model, clock, ephemeral=False) as tree:
            root = await tree.spawn()
            await root.spawn(AgentSpec(name="child"))
        async with open_cursed_tree(tmp_path, model, clock, ephemeral=False) as tree:
            root = await tree.spawn(AgentSpec(resume=root.thread_id))
            child = tree.agent("/root/child")
            await child.assign("work")
            await trio.sleep(1)
            clock.curse("/root/child")
            await root.interrupt()

            with trio.move_on_after(60):
                await child.status.wait_value(lambda status: status != "running")

            assert "interrupted" == child.status.get()

    model = ScriptedModel(SLOW)
    jumping = trio.testing.MockClock(autojump_threshold=0)
    trio.run(main, clock=jumping, instruments=[PromptThreads()])
