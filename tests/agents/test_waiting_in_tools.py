"""What a tool waits for, its agent waits for: whichever way it waits, and in whichever task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, Task, WaitRing, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    ROOT,
    Capacity,
    TaskCompleted,
    TaskRecord,
    ToolCall,
    ToolOutput,
)
from codex_actors.tools import Toolbox, ToolContext, answer

from .support import settings, tool

Wait = Callable[[AgentTree, list[Task]], Awaitable[object]]
GO = 'SCRIPT [[{"call": "go", "args": {}}], [{"say": "done"}]]'
OK = 'SCRIPT [[{"say": "ok"}]]'


async def one_by_one(tree: AgentTree, tasks: list[Task]) -> object:
    return [await task.wait() for task in tasks]


async def all_at_once(tree: AgentTree, tasks: list[Task]) -> object:
    return await tree.wait_all(tasks)


async def any_of_them(tree: AgentTree, tasks: list[Task]) -> object:
    return await tree.wait_any(tasks)


async def side_by_side(tree: AgentTree, tasks: list[Task]) -> object:
    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(task.wait)
    return None


async def one_within_another(tree: AgentTree, tasks: list[Task]) -> object:
    agent = tree.agent("/root")
    return await agent.wait_all([*tasks]) and await tree.wait_all(tasks)


@pytest.mark.parametrize(
    "wait", [one_by_one, all_at_once, any_of_them, side_by_side, one_within_another]
)
async def test_a_turn_that_waits_lets_those_run_that_it_waits_for(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, wait: Wait
) -> None:
    most = 0

    async def go(call: ToolCall, context: ToolContext) -> ToolOutput:
        me = tree.agent(context.thread_id)
        tasks = [await (await me.spawn()).assign(OK) for _ in range(3)]
        nonlocal most
        most = max(most, len(tree._commons.slots.holders()))
        await wait(tree, tasks)
        most = max(most, len(tree._commons.slots.holders()))
        return answer(call, "went")

    given = settings(tmp_path, capacity=Capacity(running=1))
    box = Toolbox([tool("go", go)])
    async with open_agents(given, model=ScriptedModel(), toolbox=lambda _: box) as tree:
        root = await tree.spawn()
        with trio.fail_after(60):
            record = await (await root.assign(GO)).wait()

        assert record.outcome == TaskCompleted("done")
        assert most == 1
        with trio.fail_after(60):
            await root.wait_idle()
            for child in root.children:
                await child.wait_idle()
        assert () == tree._commons.slots.holders()


async def test_a_ring_is_found_however_it_is_waited_for(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    caught: list[WaitRing] = []

    async def go(call: ToolCall, context: ToolContext) -> ToolOutput:
        task = await tree.agent(context.thread_id).assign(OK)
        try:
            await task.wait()
        except WaitRing as error:
            caught.append(error)
        return answer(call, "went")

    box = Toolbox([tool("go", go)])
    async with open_agents(
        settings(tmp_path), model=ScriptedModel(), toolbox=lambda _: box
    ) as tree:
        root = await tree.spawn()
        with trio.fail_after(60):
            record = await (await root.assign(GO)).wait()

    assert record.outcome == TaskCompleted("done")
    assert [("/root",)] == [error.ring for error in caught]


async def test_what_a_tool_writes_and_gives_is_its_agents(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    given: list[TaskRecord] = []
    senders: list[str] = []

    async def go(call: ToolCall, context: ToolContext) -> ToolOutput:
        other = tree.agent("/root/other")
        senders.append(str((await other.send("hello")).sender))
        given.append((await other.assign(OK)).record.get())
        return answer(call, "went")

    box = Toolbox([tool("go", go)])
    async with open_agents(
        settings(tmp_path), model=ScriptedModel(), toolbox=lambda _: box
    ) as tree:
        root = await tree.spawn()
        other: AgentHandle = await root.spawn(AgentSpec(name="other"))
        writer = await root.spawn(AgentSpec(name="writer"))
        await (await writer.assign(GO)).wait()
        by_program = await other.assign(OK)

        assert ["/root/writer"] == senders
        assert [writer.path] == [record.assigned_by for record in given]
        assert by_program.record.get().assigned_by is None
        assert (await other.send("hello")).sender == ROOT
