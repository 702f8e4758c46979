"""What `exec` shows of the agents below the root, and what it does about their tasks."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest

import codex_actors
from codex_actors import AgentSpec
from tests.integration.support import FULL, Place, open_server


@asynccontextmanager
async def a_tree_that_was_killed(tmp_path: Path) -> AsyncGenerator[tuple[Place, str], None]:
    """Leave a root with a child whose task did not end, as kill -9 leaves it on the disk."""
    async with open_server([[{"sleep": 1000}]]) as server:
        (tmp_path / "first").mkdir()
        first = Place.below(tmp_path / "first", server.base_url)
        loaded = codex_actors.load_settings(
            home=str(first.home),
            environ=os.environ,
            cwd=str(first.work),
            overrides=["sandbox_mode=danger-full-access"],
        )
        async with codex_actors.open_agents(loaded.settings) as tree:
            root = await tree.spawn()
            scout = await root.spawn(AgentSpec(name="scout"))
            task = await scout.assign("sound the lake")
            await scout.status.wait_value(lambda status: status == "running")
            killed = attrs.evolve(first, home=tmp_path / "killed")
            shutil.copytree(first.home, killed.home)
            yield killed, root.thread_id
            assert task.record.get().outcome is None


@pytest.mark.parametrize("wish", ["restart", "leave"])
async def test_resume_shows_the_tree_and_does_with_its_tasks_as_told(
    tmp_path: Path, wish: str
) -> None:
    async with a_tree_that_was_killed(tmp_path) as (place, thread):
        async with open_server([[{"say": "so it is"}]]) as server:
            place.configure(server.base_url)
            ended = await place.run(
                "exec", *FULL, "resume", "--unfinished", wish, thread, "and now?"
            )
        shown = await place.run("tree", thread)

    assert ended.status == 0, ended.stderr
    assert "so it is\n" == ended.stdout
    said = ("[scout] > sound the lake\n", "[scout] so it is\n")
    assert [wish == "restart"] * 2 == [line in ended.stderr for line in said]
    assert ("1 unfinished tasks were left open: /root/scout" in ended.stderr) == (wish == "leave")
    assert re.search(
        r"scout +interrupted +" if wish == "leave" else r"scout +completed +", shown.stdout
    )
