"""How a turn's end gets to the disk, and then to the world."""

from __future__ import annotations

from pathlib import Path

import attrs
import trio

from codex_actors.agents import AgentTree, open_agents
from codex_actors.protocol import (
    Event,
    EventLine,
    TaskCompleted,
    TaskId,
    TaskOutcome,
    TaskRecord,
    ThreadId,
    ToolCall,
    ToolOutput,
    TurnCompleted,
    WarningRaised,
)
from codex_actors.rollout import journal_path, read_journal, read_rollout
from codex_actors.tools import Tool, Toolbox, ToolContext, answer
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
