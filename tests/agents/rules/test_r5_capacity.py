"""R5, capacity: running turns and loaded agents are limited apart.

Agents that are done hold neither. A turn whose tools all wait for others does not count as
running. An agent at rest can be unloaded, and comes back with the next message; mail that it
has not read does not keep it. A full house queues turns, and says who is in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

import pytest
import trio
import trio.testing

from codex_actors.agents import AgentHandle, AgentSpec
from codex_actors.protocol import (
    Capacity,
    Completed,
    EventMsg,
    InjectItems,
    Letter,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TextInput,
    TurnStarted,
    UserTurn,
    WarningRaised,
    user_message,
)
from codex_actors.tools import standard_toolbox
from tests.agents.rules.company import (
    DONE,
    PATIENCE,
    Deed,
    Post,
    child_of,
    crash,
    do,
    doing,
    once,
    open_company,
    outcome,
    run,
    say,
    script,
    until_status,
)

Clock = trio.testing.MockClock


async def lead(me: AgentHandle) -> str:
    """Have a child do something, and wait for it."""
    child = await me.spawn()
    [record] = await me.wait_all([await child.assign(doing("sleep"))])
    return str(record.outcome)


async def test_four_parents_wait_for_four_queued_children(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"lead": lead}, capacity=Capacity(running=4)) as company:
        parents = [await company.root.spawn() for _ in range(4)]
        tasks = [await parent.assign(doing("lead")) for parent in parents]

        assert [DONE] * 4 == [await outcome(task) for task in tasks]
        assert trio.current_time() == pytest.approx(600)


async def test_a_chain_of_waiting_agents_runs_in_one_slot(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async def pass_on(me: AgentHandle) -> str:
        child = await me.spawn()
        work = doing("pass_on") if me.path.depth < 4 else doing("sleep")
        [record] = await me.wait_all([await child.assign(work)])
        return str(record.outcome)

    capacity = Capacity(running=1)
    async with open_company(tmp_path, {"pass_on": pass_on}, capacity=capacity) as company:
        assert DONE == await run(company.root, doing("pass_on"))


async def test_no_more_turns_run_than_may(tmp_path: Path, autojump_clock: Clock) -> None:
    """D7: in the reference check and count are two steps."""
    running: list[int] = [0, 0]

    async def count(me: AgentHandle) -> None:
        running[0] += 1
        running[1] = max(running)
        await trio.sleep(10)
        running[0] -= 1

    async with open_company(tmp_path, {"count": count}, capacity=Capacity(running=3)) as company:
        children = [await company.root.spawn() for _ in range(10)]
        tasks = [await child.assign(doing("count")) for child in children]

        assert [DONE] * 10 == [await outcome(task) for task in tasks]
    assert [0, 3] == running


async def test_a_slot_is_kept_while_one_tool_works_and_given_back_when_all_wait(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    other = Post()
    work = Post()

    async def wait(me: AgentHandle) -> str:
        child = await me.spawn()
        await me.wait_all([await child.assign(doing("other"))])
        return "waited"

    deeds: dict[str, Deed] = {"wait": wait, "work": work, "other": other}
    async with open_company(tmp_path, deeds, capacity=Capacity(running=1)) as company:
        task = await company.root.assign(script(do("wait", "wait", "work"), say("done")))
        await trio.sleep(100)
        assert (1, 0) == (work.visits, other.visits)
        work.let_go.set()
        await trio.sleep(100)
        assert 1 == other.visits  # the second child waits for the first
        other.let_go.set()

        assert DONE == await outcome(task)
        assert ["waited", "waited", "went on"] == company.outputs(company.root)


async def test_a_turn_goes_on_only_when_it_has_its_slot_again(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    stranger = Post()
    deeds: dict[str, Deed] = {"lead": lead, "stranger": stranger}
    async with open_company(tmp_path, deeds, capacity=Capacity(running=1)) as company:
        task = await company.root.assign(doing("lead"))
        await trio.sleep(300)
        other = await company.root.spawn()
        strange = await other.assign(doing("stranger"))
        await trio.sleep(3000)
        assert (1, 1) == (stranger.visits, company.requests(company.root))
        stranger.let_go.set()

        assert [DONE, DONE] == [await outcome(task), await outcome(strange)]


async def test_a_turn_that_waits_for_its_slot_can_be_interrupted(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"lead": lead}, capacity=Capacity(running=1)) as company:
        first = await company.root.assign(doing("sleep"))
        child = await company.root.spawn()
        second = await child.assign(doing())
        await trio.sleep(1)
        await child.interrupt()
        assert TaskInterrupted("user") == await outcome(second)
        assert 0 == len(company.events(child, TurnStarted))
        third = await child.assign(doing())

        assert [DONE, DONE] == [await outcome(first), await outcome(third)]


async def test_an_interrupt_of_turns_that_wait_leaves_all_slots_free(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"lead": lead}, capacity=Capacity(running=2)) as company:
        for _ in range(3):
            tasks = [await company.root.assign(doing("lead"))]
            others = [await company.root.spawn() for _ in range(4)]
            tasks += [await other.assign(doing("lead")) for other in others]
            await trio.sleep(1)
            await company.root.interrupt()
            assert [TaskInterrupted("user")] * 5 == [await outcome(task) for task in tasks]
            for child in company.root.children:
                await child.close()
            await run(company.root, doing())

        pair = [await company.root.spawn() for _ in range(2)]
        began = trio.current_time()
        tasks = [await agent.assign(doing("sleep")) for agent in pair]
        assert [DONE, DONE] == [await outcome(task) for task in tasks]
        assert 600 == pytest.approx(trio.current_time() - began)


async def test_agents_that_are_done_hold_nothing(tmp_path: Path, autojump_clock: Clock) -> None:
    capacity = Capacity(running=1, loaded=1)
    async with open_company(tmp_path, capacity=capacity) as company:
        for _ in range(3):
            for _ in range(5):
                child = await company.root.spawn()
                assert DONE == await run(child, doing())
        assert [DONE] * 15 == [await run(c, doing()) for c in company.root.children]


async def test_an_unloaded_agent_comes_back_as_it_was(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D6: in the reference a reloaded agent is taken for one that never began."""
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        child = await child_of(company.root, "child")
        await run(child, script(say("I remember")))
        usage = child.usage
        for _ in range(3):
            await run(await company.root.spawn(), doing())
        assert (Completed("I remember"), usage) == (child.status.get(), child.usage)
        assert DONE == await run(child, doing())

        assert "I remember" in company.texts(child)
        assert 220 == child.usage.total_token_usage.total_tokens
        assert 2 == child.spent.turns


async def test_mail_that_is_not_read_does_not_keep_an_agent_loaded(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D6: in the reference one unread letter pins an agent."""
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        child = await child_of(company.root, "child")
        await run(child, doing())
        await child.send("unread")
        for _ in range(3):
            assert DONE == await run(await company.root.spawn(), doing())
        await child.send("while you were out")
        await child.send(Letter(text="wake up", trigger=True))
        await trio.sleep(1)

        letters = [t.splitlines()[-1] for t in company.texts(child) if "Payload:" in t]
        assert ["unread", "while you were out", "wake up"] == letters


async def test_a_busy_house_says_who_is_in_it(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        one = await child_of(company.root, "one")
        two = await child_of(company.root, "two")
        busy = [await agent.assign(doing("sleep")) for agent in (one, two)]
        await trio.sleep(1)
        three = await child_of(company.root, "three")  # it needs no room to be there
        for agent in (company.root, three):
            failed = await run(agent, doing())
            assert isinstance(failed, TaskFailed)
            assert "2 are loaded and busy, /root/one, /root/two; wait" in failed.message

        assert [DONE, DONE] == [await outcome(task) for task in busy]
        assert DONE == await run(three, doing())
        assert DONE == await run(company.root, doing())


async def test_whoever_finds_no_room_is_told_also_without_a_task(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, capacity=Capacity(loaded=1)) as company:
        child = await child_of(company.root, "child")
        busy = await child.assign(doing("sleep"))
        await trio.sleep(1)
        await company.root.submit(UserTurn(items=(TextInput("hello?"),)))
        await trio.testing.wait_all_tasks_blocked()
        [warning] = company.events(company.root, WarningRaised)

        assert isinstance(warning, WarningRaised)
        assert "the turn was not run: no room to load an agent: 1 are" in warning.message
        assert DONE == await outcome(busy)


@pytest.mark.parametrize("mail", ["letter", "news"])
async def test_mail_that_found_no_room_is_told_and_read_later(
    mail: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        root = company.root
        for name in ("one", "two"):
            await (await child_of(root, name)).assign(doing("sleep"))
        await trio.sleep(1)
        if mail == "letter":
            await root.send(Letter(text="wake up", trigger=True))
        else:
            failed = await run(await child_of(root, "three"), doing(), reply_to=root)
            assert isinstance(failed, TaskFailed)
        await trio.testing.wait_all_tasks_blocked()
        told = [e.message for e in company.events(root, WarningRaised) if _is_warning(e)]
        assert 1 == len(told)
        assert "the turn was not run: no room to load an agent: 2 are loaded and busy" in told[0]
        assert (1, 0) == (company.tree.snapshot()[0].letters, company.requests(root))

        await trio.sleep(1000)
        assert DONE == await run(root, doing())
        words = "wake up" if mail == "letter" else "subagent_notification"
        assert 1 == sum(words in text for text in company.texts(root))
        assert 0 == company.tree.snapshot()[0].letters


def _is_warning(msg: EventMsg) -> TypeGuard[WarningRaised]:
    return isinstance(msg, WarningRaised)


async def test_items_that_found_no_room_are_not_lost_in_silence(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, capacity=Capacity(loaded=1)) as company:
        child = await child_of(company.root, "child")
        busy = await child.assign(doing("sleep"))
        await trio.sleep(1)
        await company.root.submit(InjectItems((user_message("remember this"),)))
        await trio.testing.wait_all_tasks_blocked()
        assert 1 == len(company.events(company.root, WarningRaised))
        assert DONE == await outcome(busy)


async def test_a_closed_agent_leaves_its_room(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, capacity=Capacity(loaded=2)) as company:
        children = [await company.root.spawn() for _ in range(2)]
        for child in children:
            await child.assign(doing("sleep"))
        await trio.sleep(1)
        await children[0].close()

        assert DONE == await run(company.root, doing())


async def test_an_agent_that_crashed_does_not_die_of_a_full_house(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    deeds = {"crash": once(crash)}
    async with open_company(tmp_path, deeds, capacity=Capacity(loaded=1)) as company:
        child = await child_of(company.root, "child")
        await child.submit(UserTurn(items=(TextInput(doing("crash")),)))
        await trio.sleep(0.5)
        busy = await company.root.assign(doing("sleep"))

        assert DONE == await outcome(busy)
        assert DONE == await run(child, doing())


@pytest.mark.parametrize("command", ["sleep 300", "sleep 300 > /dev/null 2>&1 &"])
async def test_an_agent_with_a_living_process_stays_loaded(command: str, tmp_path: Path) -> None:
    """Also with one that the command has left behind; not with one that has ended."""
    work = script(
        [{"call": "exec_command", "args": {"cmd": command, "yield_time_ms": 250}}],
        [{"say": "it runs"}],
    )
    async with open_company(
        tmp_path, toolbox=standard_toolbox, capacity=Capacity(loaded=1)
    ) as company:
        other = await company.root.spawn()
        assert TaskCompleted("it runs") == await run(other, work.replace("sleep 300", "true"))
        assert TaskCompleted("it runs") == await run(company.root, work)
        failed = await run(await company.root.spawn(), doing())

        assert isinstance(failed, TaskFailed)
        assert "1 are loaded and busy, /root;" in failed.message


async def test_many_more_agents_than_may_be_loaded_work_together(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async def delegate(me: AgentHandle) -> str:
        children = [await me.spawn(AgentSpec(name=f"{n}")) for n in range(3)]
        with trio.fail_after(PATIENCE):
            records = [await me.wait_all([await c.assign(doing())]) for c in children]
        return str(len(records))

    capacity = Capacity(running=2, loaded=3)
    async with open_company(tmp_path, {"delegate": delegate}, capacity=capacity) as company:
        for _ in range(3):
            leader = await company.root.spawn()
            assert DONE == await run(leader, doing("delegate"))
            await until_status(leader, Completed)
        assert 13 == len(company.tree.snapshot())
