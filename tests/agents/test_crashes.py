"""An agent that crashes says so, comes back with its children, and goes on with its tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import Strategy
from codex_actors.agents import AgentServices, AgentSpec, open_agents
from codex_actors.protocol import (
    Event,
    Settings,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    ToolCall,
    ToolOutput,
    WarningRaised,
)
from codex_actors.tools import Tool, Toolbox, ToolContext, answer

from .support import remember, settings, tool, toolbox


def breaking(reasons: dict[str | None, list[str]]) -> Callable[[Settings], Toolbox]:
    """Return a toolbox that fails as often as there are reasons for those instructions."""

    def make(given: Settings) -> Toolbox:
        waiting = reasons.get(given.developer_instructions)
        if waiting:
            raise RuntimeError(waiting.pop())
        return toolbox(given)

    return make


@attrs.define(eq=False)
class Slow:
    """A tool that takes its time when it is first called."""

    begun: trio.Event = attrs.field(factory=trio.Event)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        if not self.begun.is_set():
            self.begun.set()
            await trio.sleep_forever()
        return answer(call, "done")

    @property
    def tool(self) -> Tool:
        return tool("patience", self.run)


async def test_a_crash_is_told_before_the_agent_starts_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    services = AgentServices(
        model=remember([{"say": "ok"}]), toolbox=breaking({"work": ["the tracker is down"]})
    )
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        async with tree.events() as events:
            worker = await root.spawn(AgentSpec(name="worker", instructions="work"))
            record = await (await worker.assign("go")).wait()
            with trio.move_on_after(1):
                told = []
                while True:
                    event = await events.receive()
                    assert isinstance(event, Event)
                    if isinstance(event.msg, WarningRaised):
                        told.append((str(event.path), event.msg.message))

    assert record.outcome == TaskCompleted("ok")
    assert [("/root/worker", "/root/worker crashed: RuntimeError('the tracker is down')")] == told


async def test_tasks_of_an_agent_that_is_beyond_help_fail_with_what_it_crashed_of(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    services = AgentServices(model=remember(), toolbox=breaking({"work": ["boom"] * 9}))
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        worker = await root.spawn(AgentSpec(name="worker", instructions="work"))
        tasks = [await worker.assign("go") for _ in range(3)]
        *_, last = await tree.wait_all(tasks)

        assert last.outcome == TaskFailed(
            "the agent crashed: RuntimeError('boom')", "internal_server_error"
        )
        assert () == root.children


async def test_tasks_below_an_agent_that_crashed_are_run_again(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    reasons: dict[str | None, list[str]] = {}
    slow = Slow()
    services = AgentServices(
        model=remember([{"call": "patience", "args": {}}], [{"say": "ok"}]),
        toolbox=breaking(reasons),
    )
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        boss = await root.spawn(AgentSpec(name="boss", instructions="lead"))
        hand = await boss.spawn(AgentSpec(name="hand", instructions="work", tools=(slow.tool,)))
        work = await hand.assign("carry this")
        await slow.begun.wait()
        reasons["lead"] = ["boom"]
        await boss.assign("look")
        record = await work.wait()

    assert record.outcome == TaskCompleted("ok")


async def test_the_task_of_an_agent_that_is_restarted_with_its_sibling_is_run_again(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    reasons: dict[str | None, list[str]] = {}
    slow = Slow()
    services = AgentServices(
        model=remember([{"call": "patience", "args": {}}], [{"say": "ok"}]),
        toolbox=breaking(reasons),
    )
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn(AgentSpec(children_strategy=Strategy.ONE_FOR_ALL))
        bad = await root.spawn(AgentSpec(name="bad", instructions="lead"))
        good = await root.spawn(AgentSpec(name="good", instructions="work", tools=(slow.tool,)))
        work = await good.assign("carry this")
        await slow.begun.wait()
        reasons["lead"] = ["boom"]
        await bad.assign("look")
        record = await work.wait()

    assert record.outcome == TaskCompleted("ok")


async def test_a_child_may_be_asked_for_while_its_owner_comes_up_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    services = AgentServices(
        model=remember([{"say": "ok"}]), toolbox=breaking({None: ["boom", "bang"]})
    )
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        failed = await (await root.assign("go")).wait()
        child = await root.spawn(AgentSpec(name="child"))
        record = await (await child.assign("go")).wait()

    assert isinstance(failed.outcome, TaskFailed)
    assert record.outcome == TaskCompleted("ok")


@pytest.mark.parametrize("wrong", ["text", None])
async def test_a_tool_that_returns_no_output_has_a_bug_and_the_agent_lives_on(
    tmp_path: Path, wrong: object
) -> None:
    async def careless(call: ToolCall, context: ToolContext) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        return wrong  # type: ignore[return-value]

    model = remember([{"call": "careless", "args": {}}], [{"say": "ok"}])
    services = AgentServices(model=model, toolbox=toolbox)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn(AgentSpec(tools=(tool("careless", careless),)))
        failed = await (await root.assign("go")).wait()
        after = await (await root.assign("go on")).wait()

    assert isinstance(failed.outcome, TaskFailed)
    assert "careless" in failed.outcome.message
    assert after.outcome == TaskCompleted("ok")
    assert not isinstance(failed.outcome, TaskInterrupted)


async def test_closing_goes_on_when_the_caller_was_cancelled_before(tmp_path: Path) -> None:
    """As in the ``finally`` of a tool whose turn is interrupted."""
    services = AgentServices(model=remember(), toolbox=toolbox)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        with trio.CancelScope() as scope:
            scope.cancel()
            await child.close()
        assert scope.cancelled_caught
        with trio.fail_after(5):
            await child.close()
        await root.spawn(AgentSpec(name="child"))


async def test_a_child_may_be_closed_while_its_owner_comes_up_again(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    reasons: dict[str | None, list[str]] = {}
    services = AgentServices(model=remember(), toolbox=breaking(reasons))
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        boss = await root.spawn(AgentSpec(name="boss", instructions="lead"))
        child = await boss.spawn(AgentSpec(name="child"))
        reasons["lead"] = ["boom"]
        task = await boss.assign("look")
        async with tree.events() as events:
            async for event in events:
                if isinstance(event, Event) and isinstance(event.msg, WarningRaised):
                    break
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(5):
            await child.close()

        assert (await task.wait()).outcome == TaskCompleted("ok")
        assert () == boss.children


async def test_an_agent_of_a_tree_that_was_left_is_closed(tmp_path: Path) -> None:
    services = AgentServices(model=remember(), toolbox=toolbox)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
    with trio.fail_after(5):
        report = await child.close()

    assert not report.grace_ran_out
