"""R4, waiting: it is for records of tasks, not for the moment when they change; any or all.

It does not matter when a task ended. That the time is over is no failure of the task, and the
task says what it is at. Agents that would wait for each other for ever are told so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import Watch
from codex_actors.agents import AgentHandle, Task, WaitRing
from codex_actors.agents._waiting import any_settled
from codex_actors.protocol import TaskCompleted, TaskInterrupted, TaskRecord
from tests.agents.rules.company import (
    DONE,
    PATIENCE,
    Company,
    Deed,
    Post,
    child_of,
    doing,
    open_company,
    outcome,
    run,
    say,
    script,
)

Clock = trio.testing.MockClock


@attrs.define
class Counting:
    """A watch that counts how often somebody looks."""

    watch: Watch[TaskRecord]
    looks: int = 0

    def get(self) -> TaskRecord:
        self.looks += 1
        return self.watch.get()

    async def wait_value(self, predicate: Callable[[TaskRecord], bool]) -> TaskRecord:
        return await self.watch.wait_value(predicate)

    def changes(self) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[TaskRecord]]:
        return self.watch.changes()


async def test_a_task_that_ended_long_ago_answers_at_once(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        task = await company.root.assign(doing())
        assert DONE == await outcome(task)
        await trio.sleep(1000)
        before = trio.current_time()
        records = [
            await task.wait(),
            *await company.tree.wait_any([task]),
            *await company.tree.wait_all([task]),
        ]

        assert [DONE] * 3 == [record.outcome for record in records]
        assert before == trio.current_time()


async def test_any_returns_all_that_have_ended_and_all_in_their_order(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        children = [await company.root.spawn() for _ in range(3)]
        tasks = [
            await children[0].assign(doing("sleep")),
            await children[1].assign(doing()),
            await children[2].assign(doing()),
        ]
        await trio.sleep(1)
        ended = await company.tree.wait_any(tasks)
        every = await company.tree.wait_all(tasks)

        assert [tasks[1].id, tasks[2].id] == [record.id for record in ended]
        assert [task.id for task in tasks] == [record.id for record in every]


async def test_who_waits_for_any_is_not_woken_by_other_tasks(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Thousands may wait at once: each end that all of them look at costs them together."""
    async with open_company(tmp_path) as company:
        leaders = [await company.root.spawn() for _ in range(2)]
        slow = [await leader.assign(doing("sleep")) for leader in leaders]
        watches = [Counting(task.record) for task in slow]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(any_settled, company.tree._commons, watches)
            await trio.sleep(1)
            before = [watch.looks for watch in watches]
            for _ in range(5):
                assert DONE == await run(company.root, doing())

            assert before == [watch.looks for watch in watches]
        assert {} == company.tree._commons.hub._awaited


async def test_who_stops_waiting_for_any_is_forgotten(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        tasks = [await company.root.assign(doing("sleep")) for _ in range(2)]
        with trio.move_on_after(1):
            await company.tree.wait_any(tasks)

        assert {} == company.tree._commons.hub._awaited


async def test_a_task_that_ended_does_not_starve_the_others(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D5: the reference's wait keeps returning what was final already."""
    async with open_company(tmp_path) as company:
        done = await company.root.assign(doing())
        await outcome(done)
        child = await company.root.spawn()
        slow = await child.assign(doing("sleep"))
        await company.tree.wait_any([done, slow])
        await company.tree.wait_any([slow])

        assert DONE == slow.record.get().outcome


async def test_a_follow_up_does_not_find_the_last_result(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D5: nor does it return how the agent's last task ended."""
    async with open_company(tmp_path) as company:
        child = await company.root.spawn()
        await run(child, script(say("first")))
        second = await child.assign(script([{"sleep": 10}, {"say": "second"}]))
        [record] = await company.tree.wait_any([second])

        assert TaskCompleted("second") == record.outcome


@pytest.mark.parametrize("who", ["tree", "agent"])
async def test_who_waits_for_nothing_does_not_wait(
    who: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        waiter = company.tree if who == "tree" else company.root
        with trio.fail_after(PATIENCE):
            assert ((), ()) == (await waiter.wait_any([]), await waiter.wait_all([]))


async def test_waiting_ends_when_the_agent_is_interrupted_or_closed(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D13: in the reference the wait for an interrupted child runs to its timeout."""
    async with open_company(tmp_path) as company:
        children = [await company.root.spawn() for _ in range(2)]
        tasks = [await child.assign(doing("sleep")) for child in children]
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(company.tree.wait_all, tasks)
            await children[0].interrupt("the user")
            await children[1].close("the user")

        assert trio.current_time() < 10
        assert [TaskInterrupted("the user")] * 2 == [t.record.get().outcome for t in tasks]


async def test_waiting_ends_with_the_tree(tmp_path: Path, autojump_clock: Clock) -> None:
    async with trio.open_nursery() as nursery:
        async with open_company(tmp_path) as company:
            task = await company.root.assign(doing("sleep"))
            nursery.start_soon(company.tree.wait_any, [task])
            nursery.start_soon(company.tree.wait_all, [task])
            await trio.sleep(1)
        assert trio.current_time() < 10


async def test_progress_says_what_a_task_is_at(tmp_path: Path, autojump_clock: Clock) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        first = await company.root.assign(doing("post"))
        second = await company.root.assign(doing())
        await post.reached.wait()
        await trio.sleep(7)

        assert (True, ("do",)) == (first.progress().begun, first.progress().running_tools)
        assert 7 == pytest.approx(first.progress().idle_seconds)
        assert (False, ()) == (second.progress().begun, second.progress().running_tools)
        post.let_go.set()
        await outcome(second)
        assert (False, ()) == (first.progress().begun, first.progress().running_tools)


class Ring:
    """Agents that give each other tasks, and wait for them from inside their turns."""

    def __init__(self) -> None:
        self.company: Company | None = None
        self.tasks: dict[str, Task] = {}
        self.heard: dict[str, str] = {}

    def waiting(self, *names: str, how: str = "all") -> Deed:
        """A deed: wait for the tasks of these agents, and note what came of it."""

        async def wait(me: AgentHandle) -> str:
            tasks = [self.tasks[name] for name in names]
            try:
                await (me.wait_all(tasks) if how == "all" else me.wait_any(tasks))
            except WaitRing as error:
                self.heard[me.path.name] = " ".join(error.ring)
                return str(error)
            self.heard[me.path.name] = "went on"
            return "went on"

        return wait


async def play(company: Company, ring: Ring, *names: str) -> None:
    """Give each agent the task of its own name, one after another, and let all end."""
    agents = {name: await child_of(company.root, name) for name in names}
    gate = Post()
    company.deeds["gate"] = gate
    for name in names:
        ring.tasks[name] = await agents[name].assign(doing("gate", name))
    await trio.testing.wait_all_tasks_blocked()
    gate.let_go.set()
    for name in names:
        assert DONE == await outcome(ring.tasks[name])


async def test_waiting_for_oneself_is_refused(tmp_path: Path, autojump_clock: Clock) -> None:
    ring = Ring()
    async with open_company(tmp_path, {"a": ring.waiting("a")}) as company:
        await play(company, ring, "a")

        assert {"a": "/root/a"} == ring.heard
        [_, said] = company.outputs(company.tree.agent("/root/a"))
        assert "this would wait for ever: /root/a for /root/a" in said


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
async def test_whoever_closes_a_ring_is_refused_and_the_others_go_on(
    names: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    ring = Ring()
    deeds = {a: ring.waiting(b) for a, b in zip(names, names[1:] + names[0], strict=True)}
    async with open_company(tmp_path, deeds) as company:
        await play(company, ring, *names)

        refused = [heard for heard in ring.heard.values() if heard != "went on"]
        assert 1 == len(refused)
        assert sorted(f"/root/{name}" for name in names) == sorted(refused[0].split())


async def test_a_ring_with_a_way_out_is_none(tmp_path: Path, autojump_clock: Clock) -> None:
    """Who waits for any of several is stuck only if all of them are."""
    ring = Ring()
    deeds = {"a": ring.waiting("b", "free", how="any"), "b": ring.waiting("a"), "free": trio_sleep}
    for order in (("a", "b", "free"), ("b", "a", "free"), ("free", "b", "a")):
        async with open_company(tmp_path, deeds) as company:
            await play(company, ring, *order)

            assert {"a": "went on", "b": "went on"} == ring.heard


async def test_a_ring_whose_ways_out_are_rings_is_one(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    ring = Ring()
    deeds = {
        "a": ring.waiting("b", "c", how="any"),
        "b": ring.waiting("a"),
        "c": ring.waiting("a"),
    }
    async with open_company(tmp_path, deeds) as company:
        await play(company, ring, "a", "b", "c")

        assert sum(heard != "went on" for heard in ring.heard.values()) >= 1


async def test_a_wait_that_was_given_up_makes_no_ring(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    ring = Ring()

    async def wait_a_while(me: AgentHandle) -> None:
        with trio.move_on_after(5):
            await me.wait_all([ring.tasks["b"]])

    async def sleep_then_wait(me: AgentHandle) -> None:
        await trio.sleep(10)
        await me.wait_all([ring.tasks["a"]])

    async with open_company(tmp_path, {"a": wait_a_while, "b": sleep_then_wait}) as company:
        await play(company, ring, "a", "b")


async def trio_sleep(me: AgentHandle) -> None:
    await trio.sleep(50)


async def test_a_task_that_has_ended_holds_nobody_up_in_a_ring(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Who waits for two, of which one is done, waits for the other only."""
    ring = Ring()
    async with open_company(tmp_path, {"lead": ring.waiting("quick", "slow")}) as company:
        lead, quick, slow = [
            await child_of(company.root, name) for name in ("lead", "quick", "slow")
        ]
        nap = script([{"sleep": 0.5}, {"say": "done"}])
        ring.tasks = {"quick": await quick.assign(nap), "slow": await slow.assign(doing("sleep"))}
        ring.tasks["lead"] = await lead.assign(doing("lead"))
        await trio.sleep(1)
        company.deeds["quick"] = ring.waiting("lead")

        assert DONE == await run(quick, doing("quick"))
        assert {"lead": "went on", "quick": "went on"} == ring.heard
