"""Real processes of a tree's leaves: sleepers, daemons and terminals end with who started them."""

from __future__ import annotations

import json
import os
import select
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    DangerFullAccess,
    ModelInfo,
    Provider,
    Settings,
    TaskId,
    TaskInterrupted,
    TaskRecord,
)
from codex_actors.rollout import journal_path, open_journal, read_journal
from tests.integration.support import (
    FULL,
    INTERRUPT,
    Place,
    finish,
    open_server,
    processes_with,
)

KINDS: Final = {
    "sleeper": "bash -c 'READY; exec -a NAME sleep 1000'",
    "stubborn": "trap '' TERM INT HUP; READY; bash -c 'exec -a NAME sleep 1000'; sleep 1000",
    "daemon": "(setsid bash -c 'READY; exec -a NAME sleep 1000' &) & sleep 1000",
}
"""What runs until it is killed, and says when it is there."""
BARE: Final = "(setsid env -i bash -c 'READY; exec -a NAME sleep 1000' &) & sleep 1000"
"""A daemon that tells nobody whose it is: it ends with the program at the latest."""
COUNT: Final = len(KINDS) + 1
"""How many say so: one of them in a terminal as well."""


@attrs.frozen
class Stage:
    """Where leaves run what they run, and say when it is there."""

    folder: Path
    readiness: int
    tag: str

    def name(self, agent: str) -> str:
        return f"{self.tag}-{agent}."

    def script(self, agent: str, *more: str, in_flight: bool = True) -> str:
        """Have an agent run everything, in calls that last, or that return at once."""
        wait = 30_000 if in_flight else 250
        calls = [self._call(agent, line, wait) for line in KINDS.values()]
        calls.append(self._call(agent, KINDS["sleeper"], wait, tty=True))
        calls += [self._call(agent, line, wait) for line in more]
        return f"SCRIPT {json.dumps([calls, [{'say': 'done'}]])}"

    def _call(self, agent: str, line: str, wait: int, **more: Any) -> dict[str, Any]:
        ready = f"echo > {self.folder / 'ready'}"
        line = line.replace("READY", ready).replace("NAME", self.name(agent))
        args = {"cmd": line, "login": False, "yield_time_ms": wait, **more}
        return {"call": "exec_command", "args": args}

    async def wait_ready(self, count: int) -> None:
        """Wait until so many processes are there."""
        with trio.fail_after(30):
            while count:
                await trio.lowlevel.wait_readable(self.readiness)
                count -= len(os.read(self.readiness, count))

    def running(self, *agents: str) -> list[int]:
        return [pid for agent in agents for pid in processes_with(self.name(agent))]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    os.mkfifo(tmp_path / "ready")
    readiness = os.open(tmp_path / "ready", os.O_RDWR | os.O_NONBLOCK)
    try:
        yield Stage(tmp_path, readiness, f"{os.getpid()}-{tmp_path.name}")
    finally:
        os.close(readiness)


@contextmanager
def watch(pids: list[int]) -> Iterator[list[int]]:
    """Hold on to processes, so that their ends can be waited for."""
    with ExitStack() as stack:
        handles = []
        for pid in pids:
            handles.append(os.pidfd_open(pid))
            stack.callback(os.close, handles[-1])
        yield handles


async def wait_ended(handles: list[int]) -> None:
    with trio.fail_after(10):
        for handle in handles:
            await trio.lowlevel.wait_readable(handle)


@attrs.frozen
class Family:
    """A tree with two branches, whose leaves run everything."""

    tree: AgentTree
    root: AgentHandle
    owner: AgentHandle
    leaf: AgentHandle
    sibling: AgentHandle


@asynccontextmanager
async def open_family(stage: Stage, *, in_flight: bool = True) -> AsyncGenerator[Family, None]:
    settings = Settings(
        model=ModelInfo(slug="known", context_window=100_000),
        provider=Provider(id="test"),
        cwd=str(stage.folder),
        home=str(stage.folder / "home"),
        sandbox_policy=DangerFullAccess(),
        environment={"PATH": os.environ["PATH"]},
    )
    async with open_agents(settings, model=ScriptedModel()) as tree:
        root = await tree.spawn()
        owner = await root.spawn(AgentSpec(name="owner"))
        leaf = await owner.spawn(AgentSpec(name="leaf"))
        sibling = await root.spawn(AgentSpec(name="sibling"))
        tasks = [
            await agent.assign(stage.script(agent.path.name, in_flight=in_flight))
            for agent in (owner, leaf, sibling)
        ]
        await stage.wait_ready(3 * COUNT)
        if not in_flight:
            await tree.wait_all(tasks)
        yield Family(tree, root, owner, leaf, sibling)


@pytest.mark.parametrize("in_flight", [True, False])
async def test_the_end_of_an_agent_is_the_end_of_what_it_runs(
    stage: Stage, in_flight: bool
) -> None:
    async with open_family(stage, in_flight=in_flight) as family:
        with watch(stage.running("leaf")) as ours, watch(stage.running("owner", "sibling")) as rest:
            await family.leaf.close()

            assert [] == stage.running("leaf")
            await wait_ended(ours)
            assert all(map(lives, rest))
    assert [] == stage.running("owner", "sibling")


@pytest.mark.parametrize("in_flight", [True, False])
async def test_the_end_of_its_owner_is_the_end_of_what_an_agent_runs(
    stage: Stage, in_flight: bool
) -> None:
    async with open_family(stage, in_flight=in_flight) as family:
        with watch(stage.running("leaf", "owner")) as ours, watch(stage.running("sibling")) as rest:
            await family.owner.close()

            assert [] == stage.running("leaf", "owner")
            await wait_ended(ours)
            assert all(map(lives, rest))
    assert [] == stage.running("sibling")


async def test_an_interrupt_ends_what_calls_in_flight_have_started(stage: Stage) -> None:
    async with open_family(stage) as family:
        with watch(stage.running("leaf", "owner")) as ours, watch(stage.running("sibling")) as rest:
            await family.owner.interrupt()

            assert [] == stage.running("leaf", "owner")
            await wait_ended(ours)
            assert all(map(lives, rest))


async def test_what_runs_behind_a_turn_outlives_an_interrupt_and_not_its_agent(
    stage: Stage,
) -> None:
    async with open_family(stage, in_flight=False) as family:
        with watch(stage.running("leaf")) as behind:
            task = await family.leaf.assign(stage.script("late"))
            await stage.wait_ready(COUNT)
            with watch(stage.running("late")) as in_flight:
                await family.owner.interrupt()
                assert [] == stage.running("late")
                await wait_ended(in_flight)
            assert all(map(lives, behind))
            assert TaskInterrupted("user") == (await task.wait()).outcome
            await family.leaf.close()
            assert [] == stage.running("leaf")
            await wait_ended(behind)


async def test_a_cancelled_tree_leaves_nothing(stage: Stage) -> None:
    with trio.CancelScope() as scope:
        async with open_family(stage):
            everything = stage.running("owner", "leaf", "sibling")
            scope.cancel()

    assert scope.cancelled_caught
    assert COUNT * 3 <= len(everything)
    assert [] == stage.running("owner", "leaf", "sibling")


async def test_one_interrupt_of_the_program_ends_what_the_whole_tree_runs(stage: Stage) -> None:
    async with open_server([[{"say": "ok"}]]) as server:
        place = Place.below(stage.folder, server.base_url)
        thread = await leave_unfinished(stage, place)
        arguments = ("exec", "--json", *FULL, "resume", "--unfinished", "restart", thread)
        process = place.start(*arguments, stage.script("root"))
        try:
            await stage.wait_ready(3 * COUNT + 2)
            with watch(stage.running("root", "owner", "leaf")) as ours:
                process.send_signal(INTERRUPT)
                ended = await finish(process)
                assert [] == stage.running("root", "owner", "leaf")
                await wait_ended(ours)
        finally:
            process.kill()
            process.wait()

    assert 1 == ended.status
    assert "Traceback" not in ended.stderr
    tasks = read_journal(journal_path(str(place.home), thread)).tasks.values()
    assert [TaskInterrupted("user")] * 3 == [record.outcome for record in tasks]


async def leave_unfinished(stage: Stage, place: Place) -> str:
    """Leave a tree as a program would that was killed, and return the root's thread id."""
    settings = Settings(
        model=ModelInfo(slug="mock-model"),
        provider=Provider(id="mock"),
        cwd=str(place.work),
        home=str(place.home),
        sandbox_policy=DangerFullAccess(),
    )
    async with open_agents(settings, model=ScriptedModel()) as tree:
        root = await tree.spawn()
        owner = await root.spawn(AgentSpec(name="owner"))
        leaf = await owner.spawn(AgentSpec(name="leaf"))
    async with open_journal(str(place.home), root.thread_id) as journal:
        for agent in (owner, leaf):
            record = TaskRecord(
                id=TaskId(agent.path.name),
                thread_id=agent.thread_id,
                path=agent.path,
                text=stage.script(agent.path.name, BARE),
                assigned_at="",
            )
            await journal.assign(record)
    return root.thread_id


def lives(handle: int) -> bool:
    """Whether a process has not ended."""
    ended, _, _ = select.select([handle], [], [], 0)
    return not ended
