"""Commands that the user runs beside the agent."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, EmptyInput, open_agents
from codex_actors.protocol import (
    CommandItem,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    Message,
    RunUserShellCommand,
    TaskCompleted,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from codex_actors.tools import Toolbox, ToolContext, answer
from tests.agents.support import Remembering, remember, settings, tool
from tests.integration.support import processes_with


@attrs.define(eq=False)
class Stage:
    """A tree, what it tells, and a tool that waits to be let go."""

    tree: AgentTree
    root: AgentHandle
    model: Remembering
    msgs: list[EventMsg] = attrs.field(factory=list)
    told: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    let_go: trio.Event = attrs.field(factory=trio.Event)

    async def listen(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with self.tree.events(1000) as events:
            task_status.started()
            async for event in events:
                if not hasattr(event, "msg"):
                    continue
                self.msgs.append(event.msg)
                self.told.unpark_all()

    async def until(self, condition: Callable[[EventMsg], bool]) -> EventMsg:
        with trio.fail_after(30):
            while not any(map(condition, self.msgs)):
                await self.told.park()
        return next(msg for msg in self.msgs if condition(msg))

    def texts(self, request: int) -> list[str]:
        return [i.text for i in self.model.items(request) if isinstance(i, Message)]


def is_over(msg: EventMsg) -> bool:
    return isinstance(msg, TurnCompleted | TurnAborted)


def is_command(kind: type[ItemStarted | ItemCompleted]) -> Callable[[EventMsg], bool]:
    return lambda msg: isinstance(msg, kind) and isinstance(msg.item, CommandItem)


@asynccontextmanager
async def open_stage(home: Path, *steps: Any, **changes: Any) -> AsyncGenerator[Stage, None]:
    model = remember(*steps)
    stage: Stage | None = None

    async def wait(call: ToolCall, context: ToolContext) -> ToolOutput:
        assert stage is not None
        await stage.let_go.wait()
        return answer(call, "waited")

    quiet = {"PATH": os.environ["PATH"], "HOME": str(home)}
    config = settings(home, cwd=str(home), environment=quiet, **changes)
    async with (
        open_agents(config, model=model, toolbox=lambda _: Toolbox([tool("wait", wait)])) as tree,
        trio.open_nursery() as nursery,
    ):
        stage = Stage(tree, await tree.spawn(AgentSpec()), model)
        await nursery.start(stage.listen)
        yield stage
        nursery.cancel_scope.cancel()


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d{4} seconds", "N seconds", text)


def shown(command: str, code: int, output: str) -> str:
    return (
        f"<user_shell_command>\n<command>\n{command}\n</command>\n<result>\nExit code: {code}\n"
        f"Duration: N seconds\nOutput:\n{output}\n</result>\n</user_shell_command>"
    )


async def test_an_idle_agent_runs_it_as_a_turn_without_a_model(tmp_path: Path) -> None:
    async with open_stage(tmp_path, [{"say": "I see"}]) as stage:
        accepted = await stage.root.submit(RunUserShellCommand("echo hi; exit 3"))
        over = await stage.until(is_over)
        requests = len(stage.model.prompts)
        task = await stage.root.assign("what was that?")
        await task.wait()

    started = next(msg for msg in stage.msgs if isinstance(msg, TurnStarted))
    [item] = [
        m.item for m in stage.msgs if is_command(ItemCompleted)(m) and isinstance(m, ItemCompleted)
    ]
    assert isinstance(item, CommandItem)
    assert isinstance(over, TurnCompleted)
    assert (accepted.turn_id, 0) == (started.turn_id, requests)
    assert (over.turn_id, over.last_agent_message) == (accepted.turn_id, None)
    assert ("user_shell", "failed", 3, "hi\n") == (
        item.source,
        item.status,
        item.exit_code,
        item.aggregated_output,
    )
    told = [without_times(text) for text in stage.texts(0)]
    assert shown("echo hi; exit 3", 3, "hi\n") in told


async def test_a_running_turn_hears_of_it(tmp_path: Path) -> None:
    steps = ([{"call": "wait", "args": {}}], [{"say": "done"}])
    async with open_stage(tmp_path, *steps) as stage:
        task = await stage.root.assign("wait")
        await stage.until(lambda msg: isinstance(msg, TurnStarted))
        accepted = await stage.root.submit(RunUserShellCommand("echo hi"))
        await stage.until(is_command(ItemCompleted))
        stage.let_go.set()
        record = await task.wait()

    assert TaskCompleted("done") == record.outcome
    assert record.turn_id == accepted.turn_id
    assert 1 == sum(isinstance(msg, TurnStarted) for msg in stage.msgs)
    assert shown("echo hi", 0, "hi\n") == without_times(stage.texts(1)[-1])


async def test_an_interrupt_kills_it(tmp_path: Path) -> None:
    command = f"sleep 600 # {tmp_path.name}-{os.getpid()}"
    async with open_stage(tmp_path, [{"say": "pity"}]) as stage:
        accepted = await stage.root.submit(RunUserShellCommand(command))
        await stage.until(is_command(ItemStarted))
        await stage.root.interrupt("me")
        over = await stage.until(is_over)
        task = await stage.root.assign("and now?")
        await task.wait()

    assert isinstance(over, TurnAborted)
    assert (accepted.turn_id, "me") == (over.turn_id, over.interrupted_by)
    told = [without_times(text) for text in stage.texts(0)]
    assert shown(command, -1, "command aborted by user") in told
    assert [] == processes_with(command)


async def test_a_closing_agent_kills_it(tmp_path: Path) -> None:
    command = f"sleep 600 # {tmp_path.name}-{os.getpid()}"
    async with open_stage(tmp_path) as stage:
        await stage.root.submit(RunUserShellCommand(command))
        await stage.until(is_command(ItemStarted))
        await stage.root.close()

    assert [] == processes_with(command)


async def test_a_shell_that_is_not_there(tmp_path: Path) -> None:
    async with open_stage(tmp_path, shell="/nowhere/sh") as stage:
        await stage.root.submit(RunUserShellCommand("echo hi"))
        over = await stage.until(is_over)
        ended = await stage.until(is_command(ItemCompleted))

    assert isinstance(over, TurnCompleted)
    assert isinstance(ended, ItemCompleted)
    assert isinstance(ended.item, CommandItem)
    assert (127, "failed") == (ended.item.exit_code, ended.item.status)
    assert "/nowhere/sh" in (ended.item.aggregated_output or "")


async def test_there_must_be_a_command(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        with pytest.raises(EmptyInput):
            await stage.root.submit(RunUserShellCommand(" \n"))


async def test_what_is_submitted_meanwhile_waits_its_turn(tmp_path: Path) -> None:
    async with open_stage(tmp_path, [{"say": "hi"}]) as stage:
        first = await stage.root.submit(RunUserShellCommand("sleep 0.1"))
        task = await stage.root.assign("go")
        second = await stage.root.submit(RunUserShellCommand("true"))
        await task.wait()
        await stage.until(
            lambda msg: is_over(msg) and getattr(msg, "turn_id", "") == second.turn_id
        )

    begun = [msg.turn_id for msg in stage.msgs if isinstance(msg, TurnStarted)]
    assert [first.turn_id, task.record.get().turn_id, second.turn_id] == begun
