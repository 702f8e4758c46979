"""A tree at work while its disk is full, and afterwards. Run as a program: on a disk of its own."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, Task, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    DangerFullAccess,
    Event,
    ModelInfo,
    Provider,
    Settings,
    TaskCompleted,
    TextInput,
    ToolCall,
    ToolOutput,
    TurnCompleted,
    UserTurn,
    WarningRaised,
)
from codex_actors.rollout import JournalError
from codex_actors.tools import Tool, ToolContext, answer
from codex_actors.wire import encode_event, encode_letter, encode_task
from tests.integration.tree_records import Disk, Told, check_told

PATIENCE: Final = 200
"""How many entries a full disk may still take: there is room left inside its blocks."""


def settings(home: Path) -> Settings:
    return Settings(
        model=ModelInfo(slug="known", context_window=100_000),
        provider=Provider(id="test"),
        cwd="/",
        home=str(home),
        sandbox_policy=DangerFullAccess(),
    )


def script(*steps: Sequence[dict[str, Any]]) -> str:
    return f"SCRIPT {json.dumps(steps)}"


@attrs.define(eq=False)
class Gate:
    """A tool that takes as long as the test wants."""

    entered: trio.Event = attrs.field(factory=trio.Event)
    opened: trio.Event = attrs.field(factory=trio.Event)

    async def wait(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        self.entered.set()
        await self.opened.wait()
        return answer(call, "open")

    @property
    def tool(self) -> Tool:
        return Tool(name="gate", description="", parameters={"type": "object"}, run=self.wait)


@attrs.define(eq=False)
class Work:
    """What is done with the tree, and what it has told meanwhile."""

    tree: AgentTree
    gate: Gate = attrs.field(factory=Gate)
    told: Told = attrs.field(factory=Told)
    warnings: list[str] = attrs.field(factory=list)
    turns_over: int = 0
    news: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    async def listen(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with self.tree.events(math.inf) as events:
            task_status.started()
            async for event in events:
                assert isinstance(event, Event)
                self.say("event", event.thread_id, encode_event(event.msg))
                if isinstance(event.msg, WarningRaised):
                    self.warnings.append(event.msg.message)
                self.turns_over += isinstance(event.msg, TurnCompleted)
                self.news.unpark_all()

    def say(self, kind: str, *facts: Any) -> None:
        self.told.add([[kind, *facts]])

    async def spawn(self, owner: AgentHandle, **more: Any) -> AgentHandle:
        made = await owner.spawn(AgentSpec(**more))
        self.say("spawned", made.thread_id, made.path.text)
        return made

    async def send(self, agent: AgentHandle) -> None:
        self.say("sent", encode_letter(await agent.send("well?")))

    async def assign(self, agent: AgentHandle, work: str) -> Task:
        task = await agent.assign(work)
        self.say("assigned", encode_task(task.record.get()))
        return task

    async def finish(self, task: Task) -> None:
        record = await task.wait()
        assert isinstance(record.outcome, TaskCompleted), record
        self.say("settled", encode_task(record))

    async def close(self, agent: AgentHandle) -> None:
        self.say("closing", [agent.thread_id])
        await agent.close()
        self.say("closed", [agent.thread_id])

    async def run_turn(self, agent: AgentHandle) -> None:
        """Have an agent run a turn that is nobody's task."""
        over = self.turns_over
        await agent.submit(UserTurn(items=(TextInput("go on"),)))
        while self.turns_over == over:
            await self.news.park()

    async def go(self, fill: Callable[[], None], make_room: Callable[[], None]) -> None:
        root = await self.tree.spawn()
        self.say("root", root.thread_id)
        worker = await self.spawn(root, name="worker", tools=(self.gate.tool,))
        guest = await self.spawn(root, name="guest")
        long = await self.assign(worker, script([{"call": "gate", "args": {}}], [{"say": "a"}]))
        await self.gate.entered.wait()

        fill()
        await self.be_refused(root)
        await self.close(guest)
        self.gate.opened.set()
        await self.finish(long)
        await self.run_turn(root)
        await self.run_turn(root)
        about_rollouts = [w for w in self.warnings if "record of this session" in w]
        assert 1 == len(about_rollouts), self.warnings

        make_room()
        await self.send(root)
        await self.finish(await self.assign(root, script([{"say": "at last"}])))
        await self.spawn(root, name="guest")

    async def be_refused(self, root: AgentHandle) -> None:
        """Try everything that must not happen unless the disk holds it."""

        async def assign() -> None:
            await self.finish(await self.assign(root, "anything"))

        for attempt in (partial(self.spawn, root), partial(self.send, root), assign):
            await until_refused(attempt)
        there = self.tree.snapshot()
        assert {agent.thread_id for agent in there} == self.told.spawned.keys()


async def until_refused(attempt: Callable[[], Awaitable[object]]) -> None:
    for _ in range(PATIENCE):
        try:
            await attempt()
        except JournalError:
            return
    raise AssertionError("the disk was not full")


async def work(home: Path, fill: Callable[[], None], make_room: Callable[[], None]) -> None:
    """Fill the disk while a turn runs; make room; and have nothing lost."""
    with trio.fail_after(60):
        async with (
            trio.open_nursery() as nursery,
            open_agents(settings(home), model=ScriptedModel()) as tree,
        ):
            done = Work(tree)
            await nursery.start(done.listen)
            await done.go(fill, make_room)
    await check(home, done.told)


async def check(home: Path, told: Told) -> None:
    """Everything is there, on disk and when the tree is resumed."""
    assert told.root is not None
    disk = Disk.read(home, told.root)
    check_told(told, disk)
    assert () == disk.journal.problems
    assert [] == [p for rollout in disk.rollouts.values() for p in rollout.problems]
    async with open_agents(settings(home), model=ScriptedModel()) as tree:
        await tree.spawn(AgentSpec(resume=told.root))
        there = {agent.thread_id: agent.path for agent in tree.snapshot()}
    assert {n: path for n, path in told.spawned.items() if n not in told.closed} == there


def main(home: Path) -> None:
    """Work on a disk that this program alone has, and that is small."""
    filler = home.parent / "filler"

    def fill() -> None:
        descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(descriptor, bytes(1 << 12)):
                pass
        os.close(descriptor)

    trio.run(work, home, fill, filler.unlink)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
