"""R2, deadlines: spawn, send, wait, interrupt and close each end in time, whatever hangs.

Each call has a deadline for all of it (`Deadlines`); waiting has the caller's. To close is to
ask, to give grace, to cancel, and to report. Clean-up that is shielded is bounded itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.actors import ActorTerminated
from codex_actors.agents import AgentHandle, DeadlinePassed
from codex_actors.models import Prompt, ScriptedModel
from codex_actors.protocol import (
    Deadlines,
    Overrides,
    OverrideSettings,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TurnAborted,
)
from tests.agents.rules.company import (
    DONE,
    PATIENCE,
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


class Hanging:
    """A model whose connections do not come up; ``deaf``: and do not let go for so long."""

    def __init__(self, deaf: float = 0.0) -> None:
        self.deaf = deaf
        self.inner = ScriptedModel()

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncGenerator[Any, None]:
        try:
            await trio.sleep_forever()
            yield
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(self.deaf)


async def test_a_hanging_model_holds_up_neither_interrupt_nor_close(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, model=Hanging()) as company:
        child = await child_of(company.root, "child")
        task = await child.assign("go")
        await trio.sleep(3600)
        await company.root.interrupt()
        assert TaskInterrupted("user") == await outcome(task)
        task = await child.assign("go")
        await trio.sleep(3600)
        report = await child.close()

        assert not report.grace_ran_out
        assert TaskInterrupted("shutdown") == await outcome(task)
        assert trio.current_time() == pytest.approx(7200)


async def test_a_connection_that_does_not_let_go_is_left_behind(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, model=Hanging(deaf=60)) as company:
        task = await company.root.assign("go")
        await trio.sleep(1)
        await company.root.interrupt()

        assert TaskInterrupted("user") == await outcome(task)
        assert trio.current_time() == pytest.approx(6)


async def test_an_interrupt_that_takes_too_long_says_who_is_not_idle_and_goes_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, deadlines=Deadlines(interrupt=2)) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("be_deaf"))
        await trio.sleep(1)
        with pytest.raises(DeadlinePassed, match=r"/root/child not idle yet; it goes on"):
            await company.root.interrupt()

        assert trio.current_time() == pytest.approx(3)
        assert TaskInterrupted("user") == await outcome(task)
        assert trio.current_time() == pytest.approx(6)


async def test_a_close_that_takes_too_long_says_so_and_goes_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, deadlines=Deadlines(close=3)) as company:
        child = await child_of(company.root, "child", grace=1)
        task = await child.assign(doing("be_deaf"))
        await trio.sleep(1)
        with pytest.raises(DeadlinePassed, match="the end of /root/child"):
            await child.close()

        assert trio.current_time() == pytest.approx(5)
        assert TaskInterrupted("shutdown") == await outcome(task)
        await until_status(child, "shutdown")
        assert trio.current_time() == pytest.approx(60)


async def test_close_asks_waits_cancels_and_reports(tmp_path: Path, autojump_clock: Clock) -> None:
    async def be_slow(me: AgentHandle) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(3)

    async with open_company(tmp_path, {"be_slow": be_slow}) as company:
        patient = await child_of(company.root, "patient", grace=10)
        hasty = await child_of(company.root, "hasty", grace=1)
        for agent in (patient, hasty):
            await agent.assign(doing("be_slow"))
        await trio.sleep(0.5)
        reports = [await patient.close(), await hasty.close()]

        assert [False, False] == [report.grace_ran_out for report in reports]
        assert [2.5, 0] == [report.seconds for report in reports]
        slow = await child_of(company.root, "slow", grace=1)
        await slow.assign(doing("be_slow"))
        await trio.sleep(0.5)
        report = await slow.close()
        assert (True, "killed") == (report.grace_ran_out, report.exit.reason)
        assert report.seconds == pytest.approx(2.5)


async def test_a_spawn_below_an_agent_that_does_not_come_up_is_undone(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, deadlines=Deadlines(spawn=0.5)) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        await trio.sleep(0.1)
        with pytest.raises(DeadlinePassed, match=r"a child of /root/child.*it was undone"):
            await child.spawn()

        assert trio.current_time() == pytest.approx(0.6)
        assert isinstance(await outcome(task), TaskFailed)
        await trio.sleep(10)
        assert () == child.children
        grandchild = await child.spawn()
        assert DONE == await run(grandchild, doing())


async def test_a_spawn_waits_for_an_owner_that_is_restarted(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        await trio.sleep(0.5)
        grandchild = await child_of(child, "late")

        assert trio.current_time() == pytest.approx(1)
        assert [DONE, DONE] == [await outcome(task), await run(grandchild, doing())]


async def test_a_task_for_an_agent_that_does_not_come_up_is_handed_over_late(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(
        tmp_path, {"crash": once(crash)}, deadlines=Deadlines(send=0.5)
    ) as company:
        child = await child_of(company.root, "child")
        first = await child.assign(doing("crash"))
        await trio.sleep(0.1)
        with pytest.raises(DeadlinePassed, match=r"a task for /root/child.*may have been sent"):
            await child.assign("late")

        assert DONE == await outcome(first)
        await trio.testing.wait_all_tasks_blocked()
        assert "late" in company.texts(child)


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("a letter", lambda child: child.send("late")),
        ("a task", lambda child: child.assign("late")),
        ("an operation", lambda child: child.submit(OverrideSettings(Overrides(model="other")))),
        ("an operation", lambda child: child.steer("late")),
    ],
)
async def test_nothing_is_sent_for_longer_than_it_may_below_an_owner_that_is_down(
    what: str,
    call: Callable[[AgentHandle], Awaitable[object]],
    tmp_path: Path,
    autojump_clock: Clock,
) -> None:
    """An agent that went down with its owner has no address until that is up again."""
    async with open_company(
        tmp_path, {"crash": once(crash)}, deadlines=Deadlines(send=0.5)
    ) as company:
        owner = await child_of(company.root, "owner")
        child = await child_of(owner, "child")
        first = await owner.assign(doing("crash"))
        await trio.sleep(0.1)
        with pytest.raises(DeadlinePassed, match=rf"{what} for /root/owner/child .*0\.5 s"):
            await call(child)

        assert DONE == await outcome(first)


async def test_a_task_for_an_agent_that_is_restarted_waits(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        child = await child_of(company.root, "child")
        first = await child.assign(doing("crash"))
        await trio.sleep(0.1)

        assert DONE == await run(child, doing())
        assert DONE == await outcome(first)
        assert trio.current_time() == pytest.approx(1)


async def test_who_waits_says_how_long_and_learns_what_is_going_on(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        task = await company.root.assign(doing("sleep"))
        with trio.move_on_after(30) as patience:
            await company.tree.wait_all([task])

        assert patience.cancelled_caught
        progress = task.progress()
        assert (("do",), True) == (progress.running_tools, progress.begun)
        assert progress.idle_seconds == pytest.approx(30)
        assert DONE == await outcome(task)


async def test_an_interrupt_returns_when_the_turns_it_ended_are_over(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    """Whoever tells the agent to go on in the meantime does not hold it up."""
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("be_deaf"))
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(company.root.interrupt)
            await trio.sleep(1)
            after = await child.assign(doing("sleep"))
        assert trio.current_time() == pytest.approx(6)

        assert [TaskInterrupted("user"), DONE] == [await outcome(task), await outcome(after)]


async def test_an_interrupt_of_an_agent_that_is_closed_meanwhile_returns(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("crash"))
        await trio.sleep(0.5)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(company.root.interrupt)
            await trio.testing.wait_all_tasks_blocked()
            await child.close()

        assert trio.current_time() < 1
        assert TaskInterrupted("shutdown") == await outcome(task)


async def test_a_child_is_closed_while_its_owner_waits_to_be_restarted(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path, {"crash": once(crash)}) as company:
        owner = await child_of(company.root, "owner")
        child = await child_of(owner, "child")
        task = await child.assign(doing("sleep"))
        first = await owner.assign(doing("crash"))
        await trio.sleep(0.5)
        await child.close("the user")

        assert TaskInterrupted("the user") == await outcome(task)
        assert DONE == await outcome(first)
        assert ((), "shutdown") == (owner.children, child.status.get())
        assert trio.current_time() < 5
        assert DONE == await run(await child_of(owner, "child"), doing())


async def test_an_owner_is_closed_while_it_waits_to_be_restarted(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        owner = await child_of(company.root, "owner")
        child = await child_of(owner, "child")
        tasks = [await child.assign(doing("sleep")), await owner.assign(doing("crash"))]
        await trio.sleep(0.5)
        await owner.close("the user")

        assert [TaskInterrupted("the user")] * 2 == [await outcome(task) for task in tasks]
        assert () == company.root.children
        assert trio.current_time() < 1


async def test_ending_a_turn_is_bounded_when_the_tree_is_cancelled(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    task = None
    with trio.move_on_after(1):
        async with open_company(tmp_path) as company:
            child = await child_of(company.root, "child")
            task = await child.assign(doing("be_deaf"))
            await trio.sleep_forever()

    # The tool itself cannot be left behind: no task outlives its tree.
    assert task is not None
    assert TaskInterrupted("shutdown") == task.record.get().outcome
    assert trio.current_time() == pytest.approx(60)


async def test_a_task_with_a_deadline_that_its_tool_does_not_heed_times_out(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        task = await company.root.assign(doing("be_deaf"), seconds=10)
        with trio.fail_after(PATIENCE):
            await task.wait()

        assert trio.current_time() == pytest.approx(15)
        await trio.testing.wait_all_tasks_blocked()
        [aborted] = company.events(company.root, TurnAborted)
        assert isinstance(aborted, TurnAborted)
        assert ("r0c0",) == aborted.still_running


async def test_waiting_in_vain_is_the_tools_to_bound(tmp_path: Path, autojump_clock: Clock) -> None:
    post = Post()

    async def wait_a_while(me: AgentHandle) -> str:
        child = await child_of(me, "child")
        task = await child.assign(doing("post"))
        with trio.move_on_after(30):
            await me.wait_all([task])
        post.let_go.set()
        return f"{task.record.get().outcome} after 30 s, at {task.progress().running_tools}"

    async with open_company(tmp_path, {"wait": wait_a_while, "post": post}) as company:
        task = script(do("wait"), say("so be it"))
        assert TaskCompleted("so be it") == await run(company.root, task)
        assert ["None after 30 s, at ('do',)"] == company.outputs(company.root)


async def test_after_the_trees_end_every_call_answers_at_once(
    tmp_path: Path, autojump_clock: Clock
) -> None:
    async with open_company(tmp_path) as company:
        child = await child_of(company.root, "child")
        task = await child.assign(doing("sleep"))

    for agent in (company.root, child):
        for call in (agent.assign("x"), agent.send("x"), agent.steer("x"), agent.spawn()):
            with pytest.raises(ActorTerminated):
                await call
        await agent.interrupt()
        await agent.close()
    assert TaskInterrupted("shutdown") == await outcome(task)
    assert (await company.tree.wait_any([task])) == (await company.tree.wait_all([task]))
    assert trio.current_time() < 1
