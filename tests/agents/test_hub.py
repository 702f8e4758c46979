"""What the tree's one place for announcements promises."""

from __future__ import annotations

import math
from pathlib import Path

import attrs
import trio
import trio.testing

from codex_actors.actors import Lagged, open_broadcast
from codex_actors.agents._hub import Hub
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    AgentPath,
    Event,
    TaskCompleted,
    TaskId,
    TaskInterrupted,
    TaskRecord,
    ThreadId,
)
from tests.agents.support import open_tree

RECORD = TaskRecord(
    id=TaskId("task"),
    thread_id=ThreadId("worker"),
    path=AgentPath("/root/worker"),
    text="go",
    assigned_at="now",
    outcome=TaskInterrupted("user"),
    reply_to=ThreadId("root"),
)


async def test_a_task_ends_once_however_many_say_so() -> None:
    """A turn that is cancelled after it was told of is brought to its end again."""
    news, brought = trio.open_memory_channel[TaskRecord](math.inf)
    async with open_broadcast[Event]() as broadcast:
        hub = Hub(broadcast, news)
        hub.settle(RECORD)
        hub.settle(RECORD)
        hub.settle(attrs.evolve(RECORD, outcome=TaskCompleted("late")))
        hub.settle(attrs.evolve(RECORD, id=TaskId("another")))
    news.close()

    assert [RECORD, attrs.evolve(RECORD, id=TaskId("another"))] == [r async for r in brought]
    assert hub.settled == 2


async def test_a_slow_subscriber_is_told_so_and_holds_nobody_up(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with (
        open_tree(tmp_path, ScriptedModel([{"say": "ok"}])) as tree,
        tree.events(1) as slow,
    ):
        root = await tree.spawn()
        record = await (await root.assign("go")).wait()
        first, last = await slow.receive(), await slow.receive()

        assert TaskCompleted("ok") == record.outcome
        assert isinstance(first, Lagged)
        assert isinstance(last, Event)
        assert ["/root"] == [shown.path for shown in tree.snapshot()]
