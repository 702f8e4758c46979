"""R9, budgets: depth, children, agents, turns, tokens and seconds are limited.

Of each agent with all below it, and of the tree; checked before each request; a limit of an agent
above counts as well; what is used rolls up the tree. A task may have a time of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.agents import (
    AgentHandle,
    AgentSpec,
    TooDeep,
    TooManyAgents,
    TooManyChildren,
)
from codex_actors.protocol import (
    Letter,
    Limits,
    Role,
    Spent,
    TaskInterrupted,
    TaskOverBudget,
    TaskTimedOut,
    TurnAborted,
    TurnStarted,
)
from tests.agents.rules.company import (
    DONE,
    Company,
    Post,
    child_of,
    crash,
    doing,
    once,
    open_company,
    outcome,
    run,
)

Clock = trio.testing.MockClock

TOKENS = 110
"""What one answer of the scripted model takes."""


def limited(where: str, limits: Limits) -> dict[str, Any]:
    """Options that limit the tree, by its settings or by its root."""
    return {"limits": limits} if where == "tree" else {"spec": AgentSpec(limits=limits)}


@pytest.mark.parametrize("where", ["tree", "root"])
async def test_depth(where: str, tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, **limited(where, Limits(depth=2))) as company:
        child = await company.root.spawn()
        grandchild = await child.spawn()
        with pytest.raises(TooDeep, match="/root allows 2 generations"):
            await grandchild.spawn()

        shallow = await company.root.spawn(AgentSpec(name="shallow", limits=Limits(depth=0)))
        with pytest.raises(TooDeep, match="/root/shallow allows 0 generations"):
            await shallow.spawn()


@pytest.mark.parametrize("where", ["tree", "root"])
async def test_children(where: str, tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, **limited(where, Limits(children=2))) as company:
        first = await child_of(company.root, "first")
        await child_of(company.root, "second")
        with pytest.raises(TooManyChildren, match="/root/first, /root/second") as caught:
            await company.root.spawn()
        assert (2, ("/root/first", "/root/second")) == (caught.value.limit, caught.value.holders)
        for _ in range(3):
            await first.spawn()  # whose own children are not limited by that
        await first.close()
        await company.root.spawn()


@pytest.mark.parametrize("where", ["tree", "root"])
async def test_agents(where: str, tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, **limited(where, Limits(agents=4))) as company:
        child = await child_of(company.root, "child", limits=Limits(agents=2))
        await child.spawn()
        with pytest.raises(TooManyAgents, match="/root/child and those below"):
            await child.spawn()
        other = await company.root.spawn()
        with pytest.raises(TooManyAgents, match=r"/root and those below it are as many.* 4:"):
            await other.spawn()
        await child.close()
        await (await other.spawn()).spawn()


async def test_many_spawns_at_once_do_not_pass_a_limit(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    refused: list[Exception] = []

    async def spawn(owner: AgentHandle) -> None:
        try:
            await owner.spawn()
        except (TooManyChildren, TooManyAgents) as error:
            refused.append(error)

    async with open_company(tmp_path, limits=Limits(children=3, agents=6)) as company:
        child = await company.root.spawn()
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(spawn, company.root)
                nursery.start_soon(spawn, child)

        assert (6, 16) == (len(company.tree.snapshot()), len(refused))


async def family(company: Company, limits: Limits) -> tuple[AgentHandle, AgentHandle]:
    lead = await child_of(company.root, "lead", limits=limits)
    return lead, await child_of(lead, "child")


async def test_turns(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path) as company:
        lead, child = await family(company, Limits(turns=3))
        assert [DONE] * 3 == [await run(agent, doing()) for agent in (lead, child, child)]
        over = TaskOverBudget("turns of /root/lead: 3 of 3 used")

        assert [over, over] == [await run(agent, doing()) for agent in (lead, child)]
        assert DONE == await run(company.root, doing())
        assert 3 == lead.spent.turns


async def test_the_last_turn_that_a_limit_allows_goes_on_to_its_end(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        lead, _ = await family(company, Limits(turns=1))
        assert DONE == await run(lead, doing("sleep", "sleep"))


@pytest.mark.parametrize("whose", ["own", "owners", "trees"])
async def test_tokens_end_a_turn_before_its_next_request(
    whose: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    small = Limits(tokens=2 * TOKENS)
    more: dict[str, Any] = {"limits": small} if whose == "trees" else {}
    async with open_company(tmp_path, {"nap": nap}, **more) as company:
        lead = await child_of(company.root, "lead", limits=small if whose == "owners" else Limits())
        child = await child_of(lead, "child", limits=small if whose == "own" else Limits())
        ending = await run(child, doing("nap", "nap", "nap"))
        await trio.testing.wait_all_tasks_blocked()
        path = {"own": "/root/lead/child", "owners": "/root/lead", "trees": "/root"}[whose]
        limit = f"tokens of {path}: 220 of 220 used"

        assert TaskOverBudget(limit) == ending
        assert 2 == company.requests(child)
        [aborted] = company.events(child, TurnAborted)
        assert isinstance(aborted, TurnAborted)
        assert ("budget_limited", None) == (aborted.reason, aborted.interrupted_by)
        assert "interrupted" == child.status.get()
        assert TaskOverBudget(limit) == await run(child, doing())
        assert 2 == company.requests(child)


async def nap(me: AgentHandle) -> None:
    await trio.sleep(1)


@pytest.mark.parametrize("whose", ["own", "owners", "trees"])
async def test_seconds_end_a_turn_in_the_middle_of_a_tool(
    whose: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    small = Limits(seconds=60)
    more: dict[str, Any] = {"limits": small} if whose == "trees" else {}
    async with open_company(tmp_path, {"nap": nap}, **more) as company:
        lead = await child_of(company.root, "lead", limits=small if whose == "owners" else Limits())
        child = await child_of(lead, "child", limits=small if whose == "own" else Limits())
        ending = await run(child, doing("sleep"))
        await trio.testing.wait_all_tasks_blocked()
        path = {"own": "/root/lead/child", "owners": "/root/lead", "trees": "/root"}[whose]

        assert TaskOverBudget(f"seconds of {path}: 60 of 60 used") == ending
        assert 60 == pytest.approx(trio.current_time())
        [aborted] = company.events(child, TurnAborted)
        assert isinstance(aborted, TurnAborted)
        assert "budget_limited" == aborted.reason


async def test_seconds_count_while_turns_run_and_not_twice(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        lead, child = await family(company, Limits(seconds=1000))
        await trio.sleep(5000)  # idle time is not spent
        tasks = [await agent.assign(doing("sleep")) for agent in (lead, child)]
        assert [DONE, DONE] == [await outcome(task) for task in tasks]
        assert (600, 600) == (lead.spent.seconds, child.spent.seconds)
        ending = await run(child, doing("sleep"))

        assert TaskOverBudget("seconds of /root/lead: 1000 of 1000 used") == ending
        assert (1000, 1000) == (lead.spent.seconds, child.spent.seconds)


async def test_what_is_used_rolls_up_the_tree(tmp_path: Path, autojump_clock: Clock) -> None:
    """D18: in the reference the usage of sub-agents is charged to nobody."""
    async with open_company(tmp_path) as company:
        lead, child = await family(company, Limits())
        other = await company.root.spawn()
        for agent in (company.root, lead, child, child, other):
            await run(agent, doing())
        spent = [agent.spent for agent in (company.root, lead, child, other)]

        assert [(n, n * TOKENS) for n in (5, 3, 2, 1)] == [(s.turns, s.tokens) for s in spent]
        await child.close()
        assert Spent(turns=3, tokens=3 * TOKENS) == lead.spent  # what is spent stays spent


async def test_a_restart_gives_no_new_budget(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        lead, _ = await family(company, Limits(turns=2))
        assert DONE == await run(lead, doing("crash"))

        assert TaskOverBudget("turns of /root/lead: 2 of 2 used") == await run(lead, doing())


async def test_a_role_brings_its_limits_and_the_tighter_ones_hold(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    role = Role(name="brief", limits=Limits(turns=1, tokens=5000))
    async with open_company(tmp_path) as company:
        child = await child_of(
            company.root, "child", role=role, limits=Limits(turns=7, tokens=50, seconds=9)
        )
        assert Limits(turns=1, tokens=50, seconds=9) == child.limits


async def test_a_task_with_a_time_of_its_own_times_out(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        before = await company.root.assign(doing("sleep"))
        task = await company.root.assign(doing("sleep"), seconds=30)

        assert DONE == await outcome(before)  # waiting in the queue does not count
        assert TaskTimedOut(30) == await outcome(task)
        assert 630 == pytest.approx(trio.current_time())
        assert DONE == await run(company.root, doing("sleep"), seconds=601)


async def test_of_two_clocks_the_earlier_one_says_why(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        lead, _ = await family(company, Limits(seconds=50))
        assert TaskTimedOut(30) == await run(lead, doing("sleep"), seconds=30)
        ending = await run(lead, doing("sleep"), seconds=30)
        assert TaskOverBudget("seconds of /root/lead: 50 of 50 used") == ending


async def test_who_is_called_like_a_clock_only_interrupts(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """What interrupters call themselves is theirs: it makes no time run out, and no restart."""
    async with open_company(tmp_path) as company:
        for by in ("deadline", "restart", "budget"):
            task = await company.root.assign(doing("sleep"), seconds=300)
            await trio.sleep(1)
            await company.root.interrupt(by)
            assert TaskInterrupted(by) == await outcome(task)
            await trio.sleep(10)
        assert 3 == len(company.events(company.root, TurnStarted))


async def test_mail_does_not_restart_an_agent_without_end_that_may_not_run(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        lead, _ = await family(company, Limits(turns=1))
        assert DONE == await run(lead, doing())
        await lead.send(Letter(text="wake up", trigger=True))
        await trio.sleep(100)

        assert 1 == company.requests(lead)
        assert 1 == next(s.letters for s in company.tree.snapshot() if s.path == "/root/lead")


async def test_everybody_below_a_spent_budget_ends_at_the_next_request(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post}) as company:
        lead = await child_of(company.root, "lead", limits=Limits(tokens=4 * TOKENS))
        children = [await lead.spawn() for _ in range(3)]
        tasks = [await child.assign(doing("post")) for child in children]
        await trio.testing.wait_all_tasks_blocked()
        assert DONE == await run(lead, doing())
        post.let_go.set()
        outcomes = [await outcome(task) for task in tasks]

        assert [TaskOverBudget("tokens of /root/lead: 440 of 440 used")] * 3 == outcomes
