"""How a turn's end gets to the disk, and then to the world."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import attrs
import trio
import trio.testing

from codex_actors.agents import AgentServices, AgentTree, open_agents
from codex_actors.protocol import (
    AgentMessageRecorded,
    Event,
    EventLine,
    InjectItems,
    Recorded,
    TaskCompleted,
    TaskId,
    TaskOutcome,
    TaskRecord,
    ThreadId,
    ToolCall,
    ToolOutput,
    TurnCompleted,
    TurnStarted,
    WarningRaised,
    user_message,
)
from codex_actors.rollout import journal_path, read_journal, read_rollout
from codex_actors.rollout._file_recorder import FileRecorder
from codex_actors.tools import Tool, Toolbox, ToolContext, answer
from tests.agents.faulty import Disk
from tests.agents.support import collect, open_tree, remember, settings, tool


def written(home: Path, thread_id: ThreadId, task_id: TaskId) -> TaskOutcome | None:
    return read_journal(journal_path(str(home), thread_id)).tasks[task_id].outcome


def ends_written(tree: AgentTree, home: Path) -> int:
    """How many ends of turns the rollout has."""
    (path,) = home.glob("sessions/**/*.jsonl")
    payloads = (line.payload for line in read_rollout(str(path)).lines)
    return sum(isinstance(p, EventLine) and isinstance(p.msg, TurnCompleted) for p in payloads)


@attrs.define
class Spy:
    """Looks at the files after each of the clerk's batches."""

    tree: AgentTree
    home: Path
    thread_id: ThreadId
    seen: list[tuple[int, int]] = attrs.field(factory=list)
    """How many turns had ended by then in the rollout, and how many tasks in the journal."""

    def job(self) -> Spy:
        return self

    def work(self) -> None:
        """Nothing: the others before it have written."""

    def done(self) -> None:
        tasks = read_journal(journal_path(str(self.home), self.thread_id)).tasks.values()
        settled = sum(task.outcome is not None for task in tasks)
        self.seen.append((ends_written(self.tree, self.home), settled))


async def test_a_turns_last_lines_and_its_tasks_outcome_are_written_in_one_go(
    tmp_path: Path, schedule: int
) -> None:
    model = remember([{"say": "one"}], [{"say": "two"}])
    async with open_tree(tmp_path, model, ephemeral=False) as tree:
        root = await tree.spawn()
        spy = Spy(tree, tmp_path, root.thread_id)
        tree._commons.books.clerk.employ(spy.job)
        for number in (1, 2):
            await (await root.assign("hi")).wait()
            assert spy.seen[-1] == (number, number)

    assert {(0, 0), (1, 1), (2, 2)} == set(spy.seen)


async def test_the_end_is_written_before_anybody_hears_of_it(tmp_path: Path, schedule: int) -> None:
    async with open_tree(tmp_path, remember([{"say": "well"}]), ephemeral=False) as tree:
        root = await tree.spawn()
        heard: list[tuple[TaskOutcome | None, int]] = []
        async with tree.events() as events, trio.open_nursery() as nursery:

            async def listen() -> None:
                async for event in events:
                    if isinstance(event, Event) and isinstance(event.msg, TurnCompleted):
                        outcome = written(tmp_path, root.thread_id, task.id)
                        heard.append((outcome, ends_written(tree, tmp_path)))
                        return

            task = await root.assign("hi")
            nursery.start_soon(listen)
            record = await task.wait()

    assert record.outcome == TaskCompleted("well")
    assert heard == [(TaskCompleted("well"), 1)]


async def test_the_disk_itself_is_asked_at_the_end_of_a_turn_and_of_an_agent(
    tmp_path: Path,
) -> None:
    """Nobody waits for it: what the kernel has survives the program."""
    held: list[bool] = []

    async def look() -> None:
        await tree._commons.books.clerk.run(lambda: None)  # what was left to do is done before
        recorder = tree._commons.recorder
        assert isinstance(recorder, FileRecorder)
        held.append(not recorder._files.unsynced)

    async def run(call: ToolCall, context: ToolContext) -> ToolOutput:
        await look()
        return answer(call, "seen")

    model = remember([{"call": "look", "args": {}}], [{"say": "done"}])
    tools = Toolbox([tool("look", run)])
    plain = settings(tmp_path, ephemeral=False)
    async with open_agents(plain, model=model, toolbox=lambda _: tools) as tree:
        root = await tree.spawn()
        await (await root.assign("hi")).wait()
        await look()
        await root.submit(InjectItems((user_message("remember this"),)))
        await root.wait_idle()
        await look()
        await root.close()
        await look()

    assert [False, True, False, True] == held


async def test_all_that_is_told_of_a_turn_is_written_before(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Events of its middle as well as its end; and a call is, before its tool begins."""
    disk = Disk()
    too_early: list[object] = []

    def look(thread_id: ThreadId, sought: object) -> None:
        lines = disk.lines[thread_id]
        kept = [n for n, line in enumerate(lines, 1) if sought in (line, getattr(line, "msg", 0))]
        if kept and kept[0] > disk.flushed.get(thread_id, 0):
            too_early.append(sought)

    async def run(call: ToolCall, context: ToolContext) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        calls = [line for line in disk.lines[root.thread_id] if isinstance(line, Recorded)]
        look(root.thread_id, calls[-1])
        assert calls[-1].item == call
        return answer(call, "seen")

    heard: list[object] = []

    def hear(event: Event) -> None:
        look(event.thread_id, event.msg)
        heard.append(event.msg)

    model = remember([{"say": "well"}, {"call": "look", "args": {}}], [{"say": "done"}])
    services = AgentServices(
        model=model, toolbox=lambda _: Toolbox([tool("look", run)]), recorder=disk
    )
    opening = open_agents(settings(tmp_path), services=services)
    async with trio.open_nursery() as nursery, opening as tree:
        await nursery.start(listen, tree, hear)
        root = await tree.spawn()
        await (await root.assign("hi")).wait()

    assert [] == too_early
    written = [line.msg for line in disk.lines[root.thread_id] if isinstance(line, EventLine)]
    assert {TurnStarted, AgentMessageRecorded, TurnCompleted} <= {
        type(msg) for msg in heard if msg in written
    }


async def test_that_the_disk_refuses_is_told_once_and_first(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    disk = Disk(refusals=math.inf)
    model = remember([{"say": "well"}])
    services = AgentServices(model=model, toolbox=lambda _: Toolbox([]), recorder=disk)
    told: list[object] = []
    opening = open_agents(settings(tmp_path), services=services)
    async with trio.open_nursery() as nursery, opening as tree:
        await nursery.start(listen, tree, lambda event: told.append(event.msg))
        root = await tree.spawn()
        child = await root.spawn()
        tasks = [await agent.assign("hi") for agent in (root, child)]
        outcomes = [(await task.wait()).outcome for task in tasks]

    assert [TaskCompleted("well")] * 2 == outcomes
    assert WarningRaised("planted") == told[0]
    assert 1 == told.count(WarningRaised("planted"))


async def listen(
    tree: AgentTree, hear: Callable[[Event], None], *, task_status: trio.TaskStatus[None]
) -> None:
    async with tree.events() as events:
        task_status.started()
        async for event in events:
            assert isinstance(event, Event)
            hear(event)


@attrs.define
class Saboteur:
    """A tool that makes the journal refuse, and how to end that."""

    path: Path = Path()
    kept: bytes = b""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        await trio.lowlevel.checkpoint()
        self.kept = self.path.read_bytes()
        self.path.unlink()
        self.path.mkdir()
        return answer(call, "done")

    def repair(self) -> None:
        self.path.rmdir()
        self.path.write_bytes(self.kept)

    def tool(self) -> Tool:
        return tool("sabotage", self.run)


async def test_an_outcome_that_the_disk_refuses_is_told_all_the_same(tmp_path: Path) -> None:
    model = remember([{"call": "sabotage", "args": {}}], [{"say": "one"}], [{"say": "two"}])
    saboteur = Saboteur()
    tools = Toolbox([saboteur.tool()])
    plain = settings(tmp_path, ephemeral=False)
    async with open_agents(plain, model=model, toolbox=lambda _: tools) as tree:
        root = await tree.spawn()
        saboteur.path = Path(journal_path(str(tmp_path), root.thread_id))
        records: list[TaskRecord] = []
        async with tree.events() as events:
            first = await root.assign("hi")
            # The journal's file is found anew when it was closed.
            writing = tree._commons.books.journal._tray._writing
            assert writing is not None
            writing[0].close()
            records.append(await first.wait())
            saboteur.repair()
            second = await root.assign("hi")
            msgs = await collect(second.events())
            records.append(await second.wait())
            told = [await events.receive() for _ in range(30)]

            warnings = [event.msg for event in told if isinstance(event, Event)]

    outcomes = [record.outcome for record in records]
    assert [TaskCompleted("one"), TaskCompleted("two")] == outcomes
    assert outcomes == [written(tmp_path, root.thread_id, record.id) for record in records]
    assert 1 == sum(isinstance(w, WarningRaised) and "the journal" in w.message for w in warnings)
    assert isinstance(msgs[-1], TurnCompleted)
