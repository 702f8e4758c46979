"""What a program that was killed may leave on disk, and how its tree comes back from that."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.agents import AgentSpec
from codex_actors.core import letter_entry, notice_item
from codex_actors.protocol import TaskCompleted, TaskId, TaskInterrupted, TaskRecord, ThreadId
from codex_actors.rollout import find_rollouts, journal_path, open_journal
from tests.agents.support import open_tree, remember


def rollout_of(home: Path, thread_id: ThreadId) -> Path:
    return Path(find_rollouts(str(home), [thread_id])[thread_id])


async def test_an_agent_whose_rollout_was_made_and_not_begun(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        child = await root.spawn()
    rollout_of(tmp_path, child.thread_id).write_bytes(b"")

    async with open_tree(tmp_path, remember([{"say": "here"}]), ephemeral=False) as tree:
        await tree.spawn(AgentSpec(resume=root.thread_id))
        task = await tree.agent("/root/agent_1").assign("go")
        record = await task.wait()

    assert TaskCompleted("here") == record.outcome


async def test_agents_that_were_made_and_had_nothing_to_do(tmp_path: Path) -> None:
    """A root has its file when it is there: it is found by that. Its child needs none yet."""
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        child = await root.spawn()
        found = find_rollouts(str(tmp_path), [root.thread_id, child.thread_id])
    rollout_of(tmp_path, child.thread_id).unlink()

    async with open_tree(tmp_path, remember([{"say": "here"}]), ephemeral=False) as tree:
        await tree.spawn(AgentSpec(resume=root.thread_id))
        task = await tree.agent("/root/agent_1").assign("go")
        record = await task.wait()

    assert root.thread_id in found
    assert TaskCompleted("here") == record.outcome


async def test_an_end_of_a_task_that_its_giver_was_not_told_of(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        child = await root.spawn()
    async with open_journal(str(tmp_path), root.thread_id) as journal:
        record = TaskRecord(
            id=TaskId("t"),
            thread_id=child.thread_id,
            path=child.path,
            text="go",
            assigned_at="",
            assigned_by=root.path,
            reply_to=root.thread_id,
        )
        await journal.assign(record)
        record = await journal.settle(record.id, TaskCompleted("it is done"))

    told = []
    for _ in range(2):
        model = remember()
        async with open_tree(tmp_path, model, ephemeral=False) as tree:
            back = await tree.spawn(AgentSpec(resume=root.thread_id))
            waiting = tree.snapshot()[0].letters
            await (await back.assign("go on")).wait()
            told.append((waiting, model.items(0).count(notice_item(record))))

    assert [(1, 1), (0, 1)] == told


async def test_an_open_task_of_an_agent_that_is_no_more(tmp_path: Path) -> None:
    """The close was written, and the end of the task was not."""
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        child = await root.spawn()
    async with open_journal(str(tmp_path), root.thread_id) as journal:
        record = TaskRecord(
            id=TaskId("t"),
            thread_id=child.thread_id,
            path=child.path,
            text="go",
            assigned_at="",
            reply_to=root.thread_id,
        )
        await journal.assign(record)
        await journal.close_agent(child.thread_id)

    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        await tree.spawn(AgentSpec(resume=root.thread_id, unfinished="restart"))
        settled = tree._commons.books.journal.task(record.id)
        assert ((), ()) == (tree.unfinished, tree.restarted)

    assert settled is not None
    assert TaskInterrupted("restart") == settled.outcome


def cut(path: Path, word: bytes, left: int) -> None:
    """Leave of a file what comes before the line with a word, and so much of that line."""
    before, line, _ = path.read_bytes().partition(word)
    start = before.rfind(b"\n") + 1
    path.write_bytes((before + line)[: start + left])


@pytest.mark.parametrize("left", [0, 20])
async def test_a_letter_that_was_recorded_and_not_said_to_be(tmp_path: Path, left: int) -> None:
    """Both lines are one write, which a kill, or a full disk, may tear."""
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        root = await tree.spawn()
        letter = await root.send("what about lunch")
        await (await root.assign("go")).wait()
    cut(rollout_of(tmp_path, root.thread_id), b"inter_agent_communication_metadata", left)
    cut(Path(journal_path(str(tmp_path), root.thread_id)), b"letters_delivered", 0)

    told = []
    for _ in range(3):
        model = remember()
        async with open_tree(tmp_path, model, ephemeral=False) as tree:
            back = await tree.spawn(AgentSpec(resume=root.thread_id))
            await (await back.assign("go on")).wait()
            told.append(model.items(0).count(letter_entry(letter).item))

    assert [1, 1, 1] == told
