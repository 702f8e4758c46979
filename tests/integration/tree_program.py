"""A tree at work that says, line by line, what it was told. `test_kill_nine` kills it.

It is started once, and copies itself for each life that is asked for: loading takes longer than
living.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, Task, new_uuid7, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    DangerFullAccess,
    Event,
    Letter,
    ModelInfo,
    Provider,
    Settings,
)
from codex_actors.wire import encode_event, encode_letter, encode_task

MARK: Final = "TREE_PROGRAM"
"""The variable that marks everything which a life has started."""


def settings(home: Path, mark: str) -> Settings:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), MARK: mark}
    return Settings(
        model=ModelInfo(slug="known", context_window=100_000),
        provider=Provider(id="test"),
        cwd=str(home),
        home=str(home),
        sandbox_policy=DangerFullAccess(),
        environment=environment,
    )


def script(*steps: Sequence[dict[str, Any]]) -> str:
    return f"SCRIPT {json.dumps(steps)}"


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"call": "exec_command", "args": {"cmd": line, "login": False, **more}}


BRIEF: Final = script([{"reason": "hm"}, command("echo brief")], [{"say": "done"}])
TWICE: Final = script(
    [command("echo one; sleep 0.02"), command("echo two")], [command("echo three")], [{"say": "3"}]
)
BEHIND: Final = script(
    [command("setsid sleep 1000 & sleep 1000", yield_time_ms=250)], [{"say": "it runs"}]
)
SAY: Final = script([{"say": "read"}])


@attrs.define(eq=False)
class Life:
    """What one process does with the tree."""

    tree: AgentTree
    nursery: trio.Nursery
    out: int

    def say(self, kind: str, *facts: Any) -> None:
        os.write(self.out, json.dumps([kind, *facts]).encode() + b"\n")

    async def child(self, owner: AgentHandle, name: str) -> AgentHandle:
        for known in owner.children:
            if known.path.name == name:
                return known
        made = await owner.spawn(AgentSpec(name=name))
        self.say("spawned", made.thread_id, made.path.text)
        return made

    async def assign(
        self, agent: AgentHandle, work: str, reply_to: AgentHandle | None = None
    ) -> Task:
        task = await agent.assign(work, reply_to=reply_to)
        self.say("assigned", encode_task(task.record.get()))
        self.nursery.start_soon(self.tell_end, task)
        return task

    async def tell_end(self, task: Task) -> None:
        self.say("settled", encode_task(await task.wait()))

    async def send(self, sender: AgentHandle, receiver: AgentHandle, *, trigger: bool) -> None:
        what = SAY if trigger else "well?"
        letter = Letter(text=f"{new_uuid7()}: {what}", trigger=trigger, sender=sender.path)
        self.say("sent", encode_letter(await receiver.send(letter)))

    async def close(self, agent: AgentHandle) -> None:
        ids = [each.thread_id for each in below(agent)]
        self.say("closing", ids)
        await agent.close()
        self.say("closed", ids)

    async def live(self, root: AgentHandle) -> None:
        """Do everything that a tree can do, in three branches at once."""
        await self.assign(root, BRIEF)
        async with trio.open_nursery() as branches:
            branches.start_soon(self.work, root)
            branches.start_soon(self.write, root)
            branches.start_soon(self.leave, root)

    async def work(self, root: AgentHandle) -> None:
        owner = await self.child(root, "worker")
        leaves = [await self.child(owner, name) for name in ("left", "right")]
        tasks = [await self.assign(leaf, TWICE, reply_to=owner) for leaf in leaves]
        tasks.append(await self.assign(leaves[0], BEHIND))
        await self.tree.wait_all(tasks)
        await self.assign(owner, SAY, reply_to=root)

    async def write(self, root: AgentHandle) -> None:
        owner = await self.child(root, "writer")
        leaf = await self.child(owner, "leaf")
        await self.send(root, owner, trigger=False)
        await self.send(root, leaf, trigger=True)
        task = await self.assign(leaf, TWICE, reply_to=owner)
        for _ in range(3):
            await self.send(owner, leaf, trigger=False)
            await self.send(leaf, root, trigger=False)
        await task.wait()
        await self.send(owner, leaf, trigger=True)
        await self.tree.wait_all([await self.assign(owner, BRIEF, reply_to=root)])

    async def leave(self, root: AgentHandle) -> None:
        for _ in range(2):
            owner = await self.child(root, "guest")
            leaf = await self.child(owner, "leaf")
            await self.send(root, leaf, trigger=True)
            task = await self.assign(leaf, BRIEF, reply_to=owner)
            await self.assign(leaf, TWICE, reply_to=root)
            await task.wait()
            await self.close(owner)


def below(agent: AgentHandle) -> Iterator[AgentHandle]:
    yield agent
    for child in agent.children:
        yield from below(child)


async def run(home: Path, mark: str, resume: str | None, out: int) -> None:
    """Live once, from the first agent to the end of the last."""
    async with trio.open_nursery() as nursery:
        async with open_agents(settings(home, mark), model=ScriptedModel()) as tree:
            life = Life(tree, nursery, out)
            await nursery.start(tell_events, life)
            root = await tree.spawn(AgentSpec(resume=resume, unfinished="restart"))
            life.say("root", root.thread_id)
            await life.live(root)
        life.say("end")


async def tell_events(life: Life, *, task_status: trio.TaskStatus[None]) -> None:
    async with life.tree.events(math.inf) as events:
        task_status.started()
        async for event in events:
            assert isinstance(event, Event)
            life.say("event", event.thread_id, encode_event(event.msg))


def serve() -> None:
    """For each line on standard input, have a copy of this process live once."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        home, mark, resume, pipe = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            out = os.open(pipe, os.O_WRONLY | os.O_CLOEXEC)
            os.environ[MARK] = mark
            os.write(out, json.dumps(["pid", os.getpid()]).encode() + b"\n")
            trio.run(run, Path(home), mark, resume, out)
            os._exit(0)


if __name__ == "__main__":
    serve()
