"""`exec` with models that make agents, against the scripted server on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.team import DONE, KID, script, slow, spawn, spawn2, v1, v2, wait, wait2
from tests.integration.support import FULL, Ended, Place, open_server

JSON = ("--json", *FULL)


def collab(ended: Ended) -> list[dict[str, Any]]:
    """What the lines tell of work with agents."""
    items = [e["item"] for e in ended.events if e["type"].startswith("item.")]
    return [item for item in items if item["type"] == "collab_tool_call"]


def metas(place: Place) -> list[dict[str, Any]]:
    """The first lines of all rollouts, the root's first."""
    found = [json.loads(path.read_text("utf-8").splitlines()[0]) for path in place.rollouts()]
    return sorted([line["payload"] for line in found], key=lambda meta: "parent_thread_id" in meta)


async def test_spawn_wait_and_close(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        prompt = script(
            [spawn()],
            [wait("$r0c0.agent_id")],
            [v1("close_agent", target="$r0c0.agent_id")],
            DONE,
        )
        ended = await place.run("exec", *JSON, prompt)

    assert ended.status == 0, ended.stderr
    root, child = metas(place)
    common = {"type": "collab_tool_call", "sender_thread_id": root["id"]}
    states = {child["id"]: {"status": "completed", "message": "child done"}}
    known = [child["id"]]
    assert [
        {"tool": "spawn_agent", "status": "in_progress", "agents_states": {}},
        {
            "tool": "spawn_agent",
            "status": "completed",
            "agents_states": {child["id"]: {"status": "pending_init", "message": None}},
        },
        {"tool": "wait", "status": "in_progress", "agents_states": {}},
        {"tool": "wait", "status": "completed", "agents_states": states},
        {"tool": "close_agent", "status": "in_progress", "agents_states": {}},
        {"tool": "close_agent", "status": "completed", "agents_states": states},
    ] == [{key: item[key] for key in ("tool", "status", "agents_states")} for item in collab(ended)]
    assert all(common.items() <= item.items() for item in collab(ended))
    assert [[], *[known] * 5] == [item["receiver_thread_ids"] for item in collab(ended)]
    assert [KID, KID, *[None] * 4] == [item["prompt"] for item in collab(ended)]
    spawned = child["source"]["subagent"]["thread_spawn"]
    assert root["id"] == spawned["parent_thread_id"] == child["parent_thread_id"]
    assert child["agent_nickname"] == spawned["agent_nickname"]
    assert child["agent_path"] == f"/root/{child['agent_nickname'].lower()}"
    assert "turn.completed" == ended.types[-1]


async def test_paths_instead_of_ids(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        place.configure(server.base_url, "[features]\nmulti_agent_v2 = true")
        prompt = script([spawn2("helper")], [wait2(15_000)], [v2("list_agents")], DONE)
        ended = await place.run("exec", *JSON, prompt)
        shown = await place.run("tree", "--json", metas(place)[0]["id"])

    assert ended.status == 0, ended.stderr
    assert [("wait", "in_progress"), ("wait", "completed")] == [
        (item["tool"], item["status"]) for item in collab(ended)
    ]
    assert "/root/helper" == metas(place)[1]["agent_path"]
    assert "helper" in shown.stdout


async def test_a_resumed_root_finds_its_agents_again(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        first = await place.run("exec", *JSON, script([spawn()], [wait("$r0c0.agent_id")], DONE))
        root, child = metas(place)
        again = script(
            [v1("send_input", target=child["id"], message=script([{"say": "I remember"}]))],
            [wait(child["id"])],
            DONE,
        )
        second = await place.run("exec", *JSON, "resume", root["id"], again)
        inside = "".join(path.read_text("utf-8") for path in place.rollouts())

    assert (first.status, second.status) == (0, 0), second.stderr
    assert 2 == len(place.rollouts())
    last = collab(second)[-1]
    assert {child["id"]: {"status": "completed", "message": "I remember"}} == last["agents_states"]
    assert f"    - {child['id']}: {child['agent_nickname']}" in inside


async def test_a_closed_agent_comes_back_in_another_process(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        target = "$r0c0.agent_id"
        close = v1("close_agent", target=target)
        await place.run("exec", *JSON, script([spawn()], [wait(target)], [close], DONE))
        root, child = metas(place)
        again = script(
            [v1("resume_agent", id=child["id"])],
            [v1("send_input", target=child["id"], message=script([{"say": "I remember"}]))],
            [wait(child["id"])],
            DONE,
        )
        second = await place.run("exec", *JSON, "resume", root["id"], again)

    assert second.status == 0, second.stderr
    last = collab(second)[-1]
    assert {child["id"]: {"status": "completed", "message": "I remember"}} == last["agents_states"]


async def test_a_team_by_configuration_alone(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        (place.home / "reviewer.toml").write_text('developer_instructions = "You review."')
        role = """
[agents.reviewer]
description = "Reads code."
config_file = "reviewer.toml"
nickname_candidates = ["Owl"]
"""
        place.configure(server.base_url, role)
        prompt = script([spawn(agent_type="reviewer")], [wait("$r0c0.agent_id")], DONE)
        ended = await place.run("exec", *JSON, prompt)
        shown = await place.run("tree", metas(place)[0]["id"])
        texts = [path.read_text("utf-8") for path in place.rollouts()]

    assert ended.status == 0, ended.stderr
    child = metas(place)[1]
    assert ("reviewer", "Owl") == (child["agent_role"], child["agent_nickname"])
    assert [False, True] == sorted("You review." in text for text in texts)
    assert "owl" in shown.stdout


async def test_agents_that_are_still_at_work_end_with_the_program(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        ended = await place.run("exec", *JSON, script([spawn(slow(1000))], DONE))

    assert ended.status == 0, ended.stderr
    assert "turn.completed" == ended.types[-1]
    assert 2 == len(place.rollouts())


async def test_what_the_whole_tree_has_used_is_a_line_of_its_own(tmp_path: Path) -> None:
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        prompt = script([spawn()], [wait("$r0c0.agent_id")], DONE)
        plain = await place.run("exec", *JSON, prompt)
        asked = await place.run("exec", *JSON, "--tree-usage", prompt)

    usages = [event["usage"]["input_tokens"] for event in asked.events[-2:]]
    assert [event["type"] for event in asked.events[-2:]] == ["turn.completed", "tree.completed"]
    assert usages == [300, 400]
    assert "tree.completed" not in [event["type"] for event in plain.events]
