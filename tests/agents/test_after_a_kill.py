"""What a program that was killed may leave on disk, and how its tree comes back from that."""

from __future__ import annotations

from pathlib import Path

from codex_actors.agents import AgentSpec
from codex_actors.protocol import TaskCompleted, ThreadId
from codex_actors.rollout import find_rollouts
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
