"""What the tree's one place for announcements promises."""

from __future__ import annotations

import math

import attrs
import trio

from codex_actors.actors import open_broadcast
from codex_actors.agents._hub import Hub
from codex_actors.protocol import (
    AgentPath,
    Event,
    TaskCompleted,
    TaskId,
    TaskInterrupted,
    TaskRecord,
    ThreadId,
)

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
