from __future__ import annotations

from typing import Any

import attrs
import pytest

from codex_actors.core._shown import flat_events, is_kept
from codex_actors.protocol import (
    AgentActivityItem,
    AgentName,
    CollabAgentItem,
    Completed,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    TurnItem,
)
from codex_actors.wire import encode_event

BASIL = AgentName(thread_id="b", agent_nickname="Elbe", agent_role="worker")
NAMED = {"receiver_agent_nickname": "Elbe", "receiver_agent_role": "worker"}
BOTH = {"call_id": "c", "sender_thread_id": "a"}


def item(tool: Any, **fields: Any) -> CollabAgentItem:
    return CollabAgentItem(id="c", tool=tool, status="completed", sender_thread_id="a", **fields)


def about(tool: Any, **fields: Any) -> CollabAgentItem:
    return item(
        tool,
        receiver_thread_ids=("b",),
        receiver_agents=(BASIL,),
        agents_states={"b": Completed("done")},
        **fields,
    )


def started(item: TurnItem) -> EventMsg:
    return ItemStarted(thread_id="a", turn_id="t", item=item, started_at_ms=5)


def completed(item: TurnItem) -> EventMsg:
    return ItemCompleted(thread_id="a", turn_id="t", item=item, completed_at_ms=9)


def flat(event: EventMsg) -> dict[str, Any]:
    (found,) = flat_events(event)
    assert not is_kept(found)
    return encode_event(found)


def test_a_spawn() -> None:
    asked = item("spawn_agent", prompt="do it", model="", reasoning_effort="")
    got = about("spawn_agent", prompt="do it", model="m", reasoning_effort="low")

    assert flat(started(asked)) == {
        "type": "collab_agent_spawn_begin",
        **BOTH,
        "prompt": "do it",
        "model": "",
        "reasoning_effort": "",
        "started_at_ms": 5,
    }
    assert flat(completed(got)) == {
        "type": "collab_agent_spawn_end",
        **BOTH,
        "new_thread_id": "b",
        "new_agent_nickname": "Elbe",
        "new_agent_role": "worker",
        "prompt": "do it",
        "model": "m",
        "reasoning_effort": "low",
        "status": {"completed": "done"},
        "completed_at_ms": 9,
    }


def test_a_spawn_that_was_refused() -> None:
    told = flat(completed(item("spawn_agent", prompt="do it")))

    assert (told["new_thread_id"], told["status"]) == (None, "not_found")
    assert "new_agent_nickname" not in told


@pytest.mark.parametrize(
    ("tool", "name", "begun", "ended"),
    [
        ("send_input", "agent_interaction", {"prompt": "go"}, {"prompt": "go", **NAMED}),
        ("close_agent", "close", {}, NAMED),
        ("resume_agent", "resume", NAMED, NAMED),
    ],
)
def test_what_is_about_one_agent(
    tool: str, name: str, begun: dict[str, Any], ended: dict[str, Any]
) -> None:
    shown = about(tool, prompt=begun.get("prompt"))
    whom = {**BOTH, "receiver_thread_id": "b"}

    assert flat(started(shown)) == {
        "type": f"collab_{name}_begin",
        **whom,
        **begun,
        "started_at_ms": 5,
    }
    assert flat(completed(shown)) == {
        "type": f"collab_{name}_end",
        **whom,
        **ended,
        "status": {"completed": "done"},
        "completed_at_ms": 9,
    }


def test_a_wait() -> None:
    shown = about("wait")
    named = {"thread_id": "b", "agent_nickname": "Elbe", "agent_role": "worker"}

    assert flat(started(shown)) == {
        "type": "collab_waiting_begin",
        **BOTH,
        "receiver_thread_ids": ["b"],
        "receiver_agents": [named],
        "started_at_ms": 5,
    }
    assert flat(completed(shown)) == {
        "type": "collab_waiting_end",
        **BOTH,
        "statuses": {"b": {"completed": "done"}},
        "agent_statuses": [{**named, "status": {"completed": "done"}}],
        "completed_at_ms": 9,
    }


def test_a_wait_for_anybody_whose_time_is_over() -> None:
    told = flat(completed(item("wait")))

    assert (told["statuses"], told["agent_statuses"]) == ({}, [])


def test_an_activity_is_told_once() -> None:
    shown = AgentActivityItem(
        id="c", kind="started", agent_thread_id="b", agent_path="/root/b", model="m"
    )

    assert flat_events(started(shown)) == ()
    assert flat(completed(shown)) == {
        "type": "sub_agent_activity",
        "event_id": "c",
        "agent_thread_id": "b",
        "agent_path": "/root/b",
        "kind": "started",
        "occurred_at_ms": 9,
    }


def test_who_has_no_name_is_known_by_its_thread() -> None:
    shown = attrs.evolve(about("close_agent"), receiver_agents=())

    assert flat(started(shown))["receiver_thread_id"] == "b"
