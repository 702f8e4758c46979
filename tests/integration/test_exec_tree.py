"""What `exec` shows of the agents below the root, and what it does about their tasks."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import attrs
import pytest
import trio
import trio.testing

import codex_actors
from codex_actors import AgentSpec, Task
from codex_actors.actors import Lagged, WatchCell
from codex_actors.cli._exec_run import Job, _Run
from codex_actors.protocol import (
    ROOT,
    AgentMessageRecorded,
    Event,
    TaskCompleted,
    TaskId,
    TaskRecord,
    ThreadId,
)
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


async def test_what_was_told_before_the_last_task_ended_is_shown(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shown: list[Event] = []
    send, receive = trio.open_memory_channel[Event | Lagged](9)
    scout = ROOT.child("scout")
    for word in ("one", "two", "three"):
        said = AgentMessageRecorded(word)
        send.send_nowait(Event(id=word, msg=said, thread_id=ThreadId("t"), path=scout))
    record = TaskRecord(
        id=TaskId("task"),
        thread_id=ThreadId("t"),
        path=scout,
        text="count",
        assigned_at="",
        outcome=TaskCompleted("three"),
    )
    job = SimpleNamespace(show_below=shown.append)
    task = SimpleNamespace(record=WatchCell(record))

    await _Run(cast(Job, job))._linger(receive, [cast(Task, task)])

    assert ["one", "two", "three"] == [event.id for event in shown]


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
    assert ("1 unfinished task was left open: /root/scout" in ended.stderr) == (wish == "leave")
    assert re.search(
        r"scout +interrupted +" if wish == "leave" else r"scout +completed +", shown.stdout
    )
