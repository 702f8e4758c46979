"""What people are shown when an agent of the second generation has finished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.actors import Lagged
from codex_actors.protocol import (
    AgentActivityItem,
    AgentActivityNoted,
    Event,
    EventLine,
    ItemCompleted,
    ItemStarted,
    TurnCompleted,
    TurnStarted,
)

from .team import DONE, Team, open_team, script, slow, spawn2, v2, wait2

FAILS = script([{"http": 400, "body": {}}])


async def all_events(team: Team, *steps: Sequence[Any], seconds: float) -> list[Event]:
    """Everything that the tree tells while its root does these things, and afterwards."""
    events: list[Event] = []
    async with team.tree.events(math.inf) as channel:
        await team.play(*steps)
        with trio.move_on_after(seconds):
            async for event in channel:
                assert not isinstance(event, Lagged)
                events.append(event)
    return events


def completions(events: list[Event]) -> list[tuple[str, str]]:
    """What items said: the class of the event, and the agent."""
    return [
        (type(event.msg).__name__, event.msg.item.agent_path)
        for event in events
        if isinstance(event.msg, ItemStarted | ItemCompleted)
        and isinstance(event.msg.item, AgentActivityItem)
        and event.msg.item.kind == "completed"
    ]


async def test_who_gave_the_task_shows_that_it_is_done(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        events = await all_events(team, [spawn2("helper")], [wait2()], DONE, seconds=5)
        root = team.root.thread_id
    [turn] = [
        e.msg.turn_id for e in events if isinstance(e.msg, TurnStarted) and e.thread_id != root
    ]
    [own] = [
        e.msg.turn_id for e in events if isinstance(e.msg, TurnStarted) and e.thread_id == root
    ]
    noted = [e for e in events if isinstance(e.msg, AgentActivityNoted)]

    assert [("ItemStarted", "/root/helper"), ("ItemCompleted", "/root/helper")] == completions(
        events
    )
    last = noted[-1]
    assert isinstance(last.msg, AgentActivityNoted)
    assert (root, "completed") == (last.thread_id, last.msg.kind)
    assert f"subagent-completed-{turn}" == last.msg.event_id
    [shown] = [
        e.msg.turn_id
        for e in events
        if isinstance(e.msg, ItemCompleted) and e.msg.item == activity(turn, events)
    ]
    assert own == shown


def activity(turn: str, events: list[Event]) -> AgentActivityItem:
    found = (e.msg.item for e in events if isinstance(e.msg, ItemCompleted))
    return next(
        i
        for i in found
        if isinstance(i, AgentActivityItem) and i.id == f"subagent-completed-{turn}"
    )


async def test_one_that_rests_shows_it_too_and_its_rollout_has_it(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        events = await all_events(team, [spawn2("late", slow(20))], DONE, seconds=60)
        rollout = await team.tree._commons.recorder.read(team.root.thread_id)
    ends = [n for n, e in enumerate(events) if isinstance(e.msg, TurnCompleted)]
    shown = [
        n
        for n, e in enumerate(events)
        if isinstance(e.msg, ItemCompleted) and isinstance(e.msg.item, AgentActivityItem)
    ]
    kept = [line.payload.msg for line in rollout.lines if isinstance(line.payload, EventLine)]
    items = [msg.item for msg in kept if isinstance(msg, ItemCompleted)]

    assert ends[0] < shown[-1]
    assert ["started", "completed"] == [
        item.kind for item in items if isinstance(item, AgentActivityItem)
    ]


@pytest.mark.parametrize("child", [FAILS, slow(1000)])
async def test_what_is_no_answer_is_not_shown_as_one(
    child: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        events = await all_events(
            team,
            [spawn2("a", child)],
            [wait2(11_000)],
            [v2("interrupt_agent", target="a")],
            DONE,
            seconds=5,
        )

    assert [] == completions(events)
