"""What is told while the disk refuses is what it holds as soon as it takes something again."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import trio
import trio.testing

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, Task
from codex_actors.core import notice_item
from codex_actors.protocol import (
    Completed,
    TaskCompleted,
    TaskId,
    TaskRecord,
    ToolCall,
    ToolOutput,
)
from codex_actors.rollout import JournalState, journal_path, open_journal, read_journal
from codex_actors.tools import ToolContext, answer
from tests.agents.support import open_tree, remember, tool

Limit: TypeAlias = Callable[[int | None], None]


async def end_on_a_full_disk(root: AgentHandle, limit_files: Limit) -> Task:
    """Have a child's task end while nothing can be written."""
    begun, go_on = trio.Event(), trio.Event()

    async def wait(call: ToolCall, context: ToolContext) -> ToolOutput:
        begun.set()
        await go_on.wait()
        return answer(call, "done")

    child = await root.spawn(AgentSpec(name="child", tools=(tool("gate", wait),)))
    steps = '[[{"call": "gate", "args": {}}], [{"say": "as it was told"}]]'
    task = await child.assign(f"SCRIPT {steps}", reply_to=root)
    await begun.wait()
    limit_files(0)
    go_on.set()
    assert TaskCompleted("as it was told") == (await task.wait()).outcome
    return task


def journal(home: Path, tree: AgentTree) -> JournalState:
    return read_journal(journal_path(str(home), tree.snapshot()[0].thread_id))


async def test_what_was_told_is_written_when_the_tree_ends(
    tmp_path: Path, limit_files: Limit
) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        task = await end_on_a_full_disk(root, limit_files)
        limit_files(None)

    written = read_journal(journal_path(str(tmp_path), root.thread_id)).tasks[task.id]
    assert task.record.get() == written


async def test_what_was_told_is_written_with_whatever_comes_next(
    tmp_path: Path, limit_files: Limit
) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        task = await end_on_a_full_disk(root, limit_files)
        limit_files(None)
        await root.send("is there room?")

        assert task.record.get() == journal(tmp_path, tree).tasks[task.id]


async def test_an_end_of_a_task_is_told_once(tmp_path: Path, limit_files: Limit) -> None:
    model = remember()
    async with open_tree(tmp_path, model, ephemeral=False) as tree:
        root = await tree.spawn()
        task = await end_on_a_full_disk(root, limit_files)
        with trio.fail_after(20):
            await root.status.wait_value(lambda status: isinstance(status, Completed))
        limit_files(None)
        await (await root.assign("go on")).wait()
        await (await root.assign("and on")).wait()

    told = model.items(-1).count(notice_item(task.record.get()))
    assert 1 == told


async def test_who_was_closed_does_not_come_back(tmp_path: Path, limit_files: Limit) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        limit_files(0)
        await child.close()
        limit_files(None)
        again = await root.spawn(AgentSpec(name="child"))
        there = journal(tmp_path, tree)

    assert [root.thread_id, again.thread_id] == list(there.agents)
    assert [child.thread_id] == list(there.closed)


async def test_the_end_of_the_tree_does_not_wait_for_a_disk_that_hangs(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    """A pipe that nobody reads blocks whoever writes more than fits."""
    model = remember([{"sleep": 60}])
    async with open_tree(tmp_path, model, ephemeral=False) as tree:
        root = await tree.spawn()
    async with open_journal(str(tmp_path), root.thread_id) as journal:
        left_open = TaskRecord(
            id=TaskId("t"), thread_id=root.thread_id, path=root.path, text="go", assigned_at=""
        )
        await journal.assign(left_open)
    async with open_tree(tmp_path, model, ephemeral=False) as tree:
        await tree.spawn(AgentSpec(resume=root.thread_id))
        assert [left_open.id] == [task.id for task in tree.unfinished]
        writing = tree._commons.books.journal._tray._writing
        assert writing is not None
        writing[0].close()
        pipe = make_full_pipe(Path(writing[0].path))
        mock_clock.autojump_threshold = 0.01
        began = trio.current_time()
    try:
        assert 5 <= trio.current_time() - began <= 20
    finally:
        os.close(pipe)  # whoever writes into it is let go


def make_full_pipe(path: Path) -> int:
    """Put a pipe that takes nothing more into the place of a file."""
    path.unlink()
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    return pipe
