"""R1, ownership: every agent runs in a nursery that its parent's scope owns.

Cancelling an agent cancels its tree, its processes included; interrupting an agent interrupts
its tree; nothing is ever orphaned, and what a spawn began is there whole or not at all.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.actors import ActorError, ActorTerminated
from codex_actors.agents import AgentHandle, NameInUse, NoSuchAgent, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    AgentStatus,
    Completed,
    Deadlines,
    Interrupt,
    ShutdownCompleted,
    TaskCompleted,
    TaskInterrupted,
    TurnAborted,
    TurnStarted,
)
from codex_actors.tools import standard_toolbox
from tests.agents.rules.company import (
    DONE,
    PATIENCE,
    Company,
    Post,
    child_of,
    doing,
    open_company,
    outcome,
    run,
    script,
    until_status,
)
from tests.agents.support import settings
from tests.integration.support import processes_with

Clock = trio.testing.MockClock


async def three_generations(company: Company) -> tuple[AgentHandle, AgentHandle, AgentHandle]:
    child = await child_of(company.root, "child")
    return company.root, child, await child_of(child, "grandchild")


async def test_an_interrupt_stops_the_whole_subtree_deepest_first(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        agents = await three_generations(company)
        tasks = [await agent.assign(doing("sleep")) for agent in agents]
        for agent in agents:
            await until_status(agent, "running")
        await trio.testing.wait_all_tasks_blocked()
        await company.root.interrupt("the user")
        await trio.testing.wait_all_tasks_blocked()

        assert [TaskInterrupted("the user")] * 3 == [await outcome(task) for task in tasks]
        assert ["interrupted"] * 3 == [agent.status.get() for agent in agents]
        ends = [e.path.text for e in company.told if isinstance(e.msg, TurnAborted)]
        assert ["/root/child/grandchild", "/root/child", "/root"] == ends
        assert [DONE] * 3 == [await run(agent, doing()) for agent in agents]


async def test_an_interrupt_leaves_those_above_and_beside_alone(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        root, child, _ = await three_generations(company)
        beside = await child_of(root, "beside")
        tasks = [await agent.assign(doing("sleep")) for agent in (root, child, beside)]
        await trio.sleep(1)
        await child.interrupt()

        assert TaskInterrupted("user") == await outcome(tasks[1])
        assert [DONE, DONE] == [await outcome(tasks[0]), await outcome(tasks[2])]


async def test_the_single_interrupt_leaves_the_children_alone(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        root, child, _ = await three_generations(company)
        tasks = [await agent.assign(doing("sleep")) for agent in (root, child)]
        await trio.sleep(1)
        await root.submit(Interrupt("user"))

        assert [TaskInterrupted("user"), DONE] == [await outcome(task) for task in tasks]


async def test_closing_a_parent_closes_its_children_before_itself(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D8, D9: the reference ends the target first, and does not see below unloaded agents."""
    async with open_company(tmp_path) as company:
        _, child, grandchild = await three_generations(company)
        tasks = [await agent.assign(doing("sleep")) for agent in (child, grandchild)]
        await trio.sleep(1)
        await child.close("the user")

        assert [TaskInterrupted("the user")] * 2 == [await outcome(task) for task in tasks]
        assert ["shutdown"] * 2 == [a.status.get() for a in (child, grandchild)]
        await trio.testing.wait_all_tasks_blocked()
        ends = [e.path.text for e in company.told if isinstance(e.msg, ShutdownCompleted)]
        assert ["/root/child/grandchild", "/root/child"] == ends
        assert () == company.root.children
        with pytest.raises(NoSuchAgent):
            company.tree.agent("/root/child/grandchild")


async def test_closing_goes_on_when_one_below_crashes_meanwhile(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D8: an error of one descendant stops nothing."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        leaves = [await child_of(child, name) for name in ("one", "two", "three")]
        tasks = [await leaves[0].assign(doing("crash")), await leaves[1].assign(doing("sleep"))]
        await trio.testing.wait_all_tasks_blocked(0.5)
        report = await child.close()

        assert "stopped" == report.exit.reason
        assert [TaskInterrupted("shutdown")] * 2 == [await outcome(task) for task in tasks]
        assert ["shutdown"] * 3 == [leaf.status.get() for leaf in leaves]


async def test_leaving_the_tree_ends_everybody(tmp_path: Path, autojump_clock: Clock) -> None:
    """D10: in the reference children of a root that is gone go on spending."""
    async with open_company(tmp_path) as company:
        agents = await three_generations(company)
        tasks = [await agent.assign(doing("sleep")) for agent in agents]
        await trio.sleep(1)

    assert [TaskInterrupted("shutdown")] * 3 == [task.record.get().outcome for task in tasks]
    assert ["shutdown"] * 3 == [agent.status.get() for agent in agents]


async def test_cancelling_the_tree_ends_everybody(tmp_path: Path, autojump_clock: Clock) -> None:
    tasks = []
    with trio.CancelScope() as scope:
        async with open_company(tmp_path) as company:
            for agent in await three_generations(company):
                tasks.append(await agent.assign(doing("sleep")))
            await trio.sleep(1)
            scope.cancel()
            await trio.sleep_forever()

    assert [TaskInterrupted("shutdown")] * 3 == [task.record.get().outcome for task in tasks]


async def test_an_exception_of_the_block_ends_everybody_and_comes_out_bare(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        async with open_agents(settings(tmp_path), model=ScriptedModel([{"sleep": 600}])) as tree:
            root = await tree.spawn()
            task = await (await root.spawn()).assign("go")
            raise RuntimeError("mine")

    assert TaskInterrupted("shutdown") == task.record.get().outcome


async def test_processes_end_with_the_agent(tmp_path: Path) -> None:
    marker = "r1-ownership-87341"
    work = script(
        [
            {
                "call": "exec_command",
                "args": {"cmd": f"sleep 3{marker[-3:]}; : {marker}", "yield_time_ms": 250},
            }
        ],
        [{"say": "it runs"}],
    )
    async with open_company(tmp_path, toolbox=standard_toolbox) as company:
        child = await child_of(company.root, "child")
        grandchild = await child_of(child, "grandchild")

        assert TaskCompleted("it runs") == await run(grandchild, work)
        assert processes_with(marker)
        await child.close()
        assert not processes_with(marker)


@pytest.mark.parametrize("call", ["interrupt", "close"])
async def test_cancelling_the_caller_undoes_nothing(
    call: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        leaf = await child_of(child, "leaf")
        tasks = [await child.assign(doing("sleep")), await leaf.assign(doing("be_deaf"))]
        await trio.sleep(1)
        with trio.move_on_after(0.1) as impatience:
            await getattr(child, call)("the user")

        assert impatience.cancelled_caught
        assert [TaskInterrupted("the user")] * 2 == [await outcome(task) for task in tasks]
        wanted: AgentStatus = "interrupted" if call == "interrupt" else "shutdown"
        await until_status(child, wanted)
        await until_status(leaf, wanted)
        # A tool that does not let go holds a close up for its grace, and itself to its end.
        assert trio.current_time() < 65


async def test_an_interrupt_from_inside_is_the_trees_work(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """The turn that asks is ended by it, and so is the call; the interrupt goes on."""

    async def interrupt_all(me: AgentHandle) -> None:
        assert me.parent is not None
        await me.parent.interrupt("child")

    async with open_company(tmp_path, {"interrupt_all": interrupt_all}) as company:
        child = await child_of(company.root, "child")
        tasks = [await company.root.assign(doing("sleep"))]
        await trio.sleep(1)
        tasks.append(await child.assign(doing("interrupt_all")))

        assert [TaskInterrupted("child")] * 2 == [await outcome(task) for task in tasks]
        assert trio.current_time() < 60


@pytest.mark.parametrize("whose", ["own", "parents"])
async def test_who_closes_himself_is_refused_and_nothing_has_happened(
    whose: str, tmp_path: Path, autojump_clock: Clock
) -> None:
    async def close(me: AgentHandle) -> str:
        target = me if whose == "own" else me.parent
        assert target is not None
        with pytest.raises(ActorError, match="its own end"):
            await target.close()
        return "refused"

    async with open_company(tmp_path, {"close": close}) as company:
        child = await child_of(company.root, "child")
        grandchild = await child_of(child, "grandchild")

        assert DONE == await run(grandchild, doing("close"))
        assert ["refused"] == company.outputs(grandchild)
        assert [DONE, DONE] == [await run(child, doing()), await run(grandchild, doing())]
        await child_of(grandchild, "further")


async def test_a_spawn_that_was_cancelled_leaves_nothing(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D1: in the reference the child stays, registered and idle, in its slot."""
    async with open_company(tmp_path) as company:
        await run(company.root, doing())
        for checkpoints in range(12):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(child_of, company.root, "child")
                    for _ in range(checkpoints):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            if company.root.children:  # it was faster
                assert DONE == await run(company.root.children[0], doing())
                await company.root.children[0].close()
            assert () == company.root.children
        child = await child_of(company.root, "child")

        assert DONE == await run(child, doing())


async def test_a_start_that_fails_leaves_nothing(tmp_path: Path, autojump_clock: Clock) -> None:
    """D1, again: the name is free, the journal has no such agent, and nobody runs."""
    async with open_company(tmp_path) as company:
        with pytest.raises(NameInUse):
            await child_of(company.root, "one")
            await child_of(company.root, "one")
        with pytest.raises(ValueError, match="name of an agent"):
            await child_of(company.root, "not a name")

        assert ["/root/one"] == [child.path.text for child in company.root.children]
        assert ["/root", "/root/one"] == [agent.path for agent in company.tree.snapshot()]


@pytest.mark.parametrize("checkpoints", range(12))
async def test_a_spawn_while_the_owner_ends_leaves_nothing(
    checkpoints: int, tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")

        async def spawn() -> None:
            with suppress(ActorTerminated):
                await child_of(child, "late")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(spawn)
            for _ in range(checkpoints):
                await trio.lowlevel.checkpoint()
            report = await child.close()

        assert not report.grace_ran_out
        assert trio.current_time() < 1
        assert ["/root"] == [agent.path for agent in company.tree.snapshot()]


async def test_a_closed_agent_is_no_burden(tmp_path: Path, autojump_clock: Clock) -> None:
    """What was the agent's is gone with it: nothing holds its threads and tools."""
    async with open_company(tmp_path) as company:

        def count() -> int:
            gc.collect()
            return sum(type(o).__name__ in ("Thread", "Living", "Desk") for o in gc.get_objects())

        counts = []
        for _ in range(3):
            child = await child_of(company.root, "child")
            await run(child, doing())
            await child.close()
            counts.append(count())

        assert counts[1] == counts[-1]


async def test_whoever_is_closed_says_so(tmp_path: Path, autojump_clock: Clock) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        await run(child, doing())
        await child.close()
        again = await child.close()

        assert "stopped" == again.exit.reason
        for call in (child.assign("x"), child.send("x"), child.steer("x"), child.spawn()):
            with pytest.raises(ActorTerminated), trio.fail_after(PATIENCE):
                await call


async def test_a_name_is_free_when_its_bearer_is_closed(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """D14: in the reference a name can never be used again in a tree."""
    async with open_company(tmp_path) as company:
        first = await child_of(company.root, "child")
        await run(first, doing())
        await first.close()
        second = await child_of(company.root, "child")
        await run(second, doing())

        assert first != second
        assert first.path == second.path
        assert first.thread_id != second.thread_id
        assert ("shutdown", Completed("done")) == (first.status.get(), second.status.get())


async def test_a_stuck_tool_goes_with_its_agent(tmp_path: Path, autojump_clock: Clock) -> None:
    post = Post()
    async with open_company(tmp_path, {"post": post}, deadlines=Deadlines(interrupt=30)) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("be_deaf"))
        await trio.sleep(1)
        await company.root.interrupt()

        assert TaskInterrupted("user") == await outcome(task)
        await trio.testing.wait_all_tasks_blocked()
        [aborted] = company.events(child, TurnAborted)
        assert isinstance(aborted, TurnAborted)
        assert ("r0c0",) == aborted.still_running
        assert trio.current_time() < 10
        assert DONE == await run(child, doing())
        assert 2 == len(company.events(child, TurnStarted))
