"""The second generation of tools, played through by scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from codex_actors.agents._collab_input import LONGEST
from codex_actors.protocol import (
    AgentActivityItem,
    CollabAgentItem,
    Completed,
    ItemCompleted,
    Role,
)

from .support import KNOWN
from .team import DONE, KID, NOBODY, V2, open_team, paired, script, slow, spawn2, v2, wait2

ABLE = attrs.evolve(KNOWN, slug="able", multi_agent="v2", efforts=("low",))
"""A model whose agents, too, can make agents."""
BOTH: dict[str, Any] = {"model": ABLE, "models": {"able": ABLE, "known": KNOWN}}


def letter(kind: str, receiver: str, sender: str, text: str) -> str:
    return f"Message Type: {kind}\nTask name: {receiver}\nSender: {sender}\nPayload:\n{text}"


async def test_spawn_wait_and_list(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with open_team(tmp_path, "v2") as team:
        played = await team.play([spawn2("helper")], [wait2()], [v2("list_agents")], DONE)
        [child] = team.root.children
        prompt = next(p for p in team.model.prompts if p.thread_id == child.thread_id)

    assert '{"task_name":"/root/helper"}' == played.said("r0c0")
    assert '{"message":"Wait completed.","timed_out":false}' == played.said("r1c0")
    assert {
        "agents": [
            {"agent_name": "/root", "agent_status": "running"},
            {"agent_name": "/root/helper", "agent_status": {"completed": "child done"}},
        ]
    } == played.json("r2c0")
    assert [letter("FINAL_ANSWER", "/root", "/root/helper", "child done")] == played.told
    assert b'"author":"/root","recipient":"/root/helper"' in prompt.input[-1]
    assert b'"encrypted_content":"SCRIPT' in prompt.input[-1]
    items = [e.item for e in played.events if isinstance(e, ItemCompleted)]
    activities = [i for i in items if isinstance(i, AgentActivityItem)]
    assert [("started", "/root/helper", "known"), ("completed", "/root/helper", None)] == [
        (item.kind, item.agent_path, item.model) for item in activities
    ]
    waits = [i for i in items if isinstance(i, CollabAgentItem)]
    assert [("wait", "completed", ())] == [(i.tool, i.status, i.receiver_thread_ids) for i in waits]


async def test_each_is_told_of_the_team_in_our_own_words(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2", at_work=3) as team:
        await team.play([spawn2("helper")], [wait2()], DONE)
        first, second = (team.model.items(n) for n in (0, 2))
        prompts = [b"".join(prompt.input) for prompt in team.model.prompts]

    assert ["developer"] * 3 + ["user"] * 2 == [getattr(item, "role", "") for item in first]
    assert b"At most 4 agents can be at work" in prompts[0]
    assert b"You are `/root/helper`" in b"".join(prompts[1:3])
    assert b"<multi_agent_mode>Make other agents only if" in prompts[0]
    assert second


async def test_what_config_says_takes_the_place_of_our_words(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    hints: dict[str, Any] = {
        "root_hint": "lead {well}",
        "agent_hint": "",
        "mode_hint": "",
        "spawn_hint": "be bold",
    }
    async with open_team(tmp_path, "v2", agent_instructions="You are below.", **hints) as team:
        await team.play([spawn2("helper")], [wait2()], DONE)
        [child] = team.root.children
        root = next(p for p in team.model.prompts if p.thread_id == team.root.thread_id)
        below = next(p for p in team.model.prompts if p.thread_id == child.thread_id)

    assert b"lead {well}" in b"".join(root.input)
    assert b"be bold" in root.tools
    assert b"multi_agent_mode" not in b"".join(root.input)
    assert b"You are below." in b"".join(below.input)
    assert b"agent in a team" not in b"".join(below.input)


async def test_only_models_that_can_get_the_tools_below_the_root(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        await team.play([spawn2("helper")], [wait2()], DONE)
        [child] = team.root.children
        below = next(p for p in team.model.prompts if p.thread_id == child.thread_id)

    assert b"spawn_agent" not in below.tools


async def test_agents_below_agents(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    inner = script(
        [spawn2("leaf", script([{"say": "leaf done"}]))],
        [wait2()],
        [
            v2("list_agents", path_prefix="leaf"),
            v2("send_message", target="/root", message="hello"),
        ],
        [{"say": "middle done"}],
    )
    async with open_team(tmp_path, "v2", settings=BOTH) as team:
        played = await team.play(
            [spawn2("middle", inner)],
            [wait2()],
            [wait2()],
            [
                v2("list_agents", path_prefix="middle"),
                v2("list_agents", path_prefix="mid"),
                v2("list_agents", path_prefix="/root/middle/leaf"),
            ],
            DONE,
        )

    assert [
        letter("MESSAGE", "/root", "/root/middle", "hello"),
        letter("FINAL_ANSWER", "/root", "/root/middle", "middle done"),
    ] == played.told
    names = [[agent["agent_name"] for agent in played.json(f"r3c{n}")["agents"]] for n in range(3)]
    assert [["/root/middle", "/root/middle/leaf"], [], ["/root/middle/leaf"]] == names


async def test_a_depth_bounds_what_models_may_make(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    inner = script([spawn2("leaf")], [{"say": "middle done"}])
    async with open_team(tmp_path, "v2", settings=BOTH, depth=1) as team:
        await team.play([spawn2("middle", inner)], [wait2()], DONE)
        said = b"".join(b"".join(prompt.input) for prompt in team.model.prompts)
        alive = len(team.tree.snapshot())

    assert b"/root/middle may not have children" in said
    assert 2 == alive


async def test_only_who_is_at_work_counts(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2", at_work=1) as team:
        played = await team.play(
            [spawn2("a")],
            [wait2()],
            [spawn2("b", slow(5))],
            [spawn2("c"), v2("followup_task", target="a", message=KID)],
            DONE,
        )

    assert "task_name" in played.said("r2c0")
    for call in ("r3c0", "r3c1"):
        assert played.said(call).startswith("agent thread limit reached")
        assert "/root/b" in played.said(call)


BAD: list[tuple[dict[str, Any], str]] = [
    (spawn2("Bad Name"), "'Bad Name' cannot be the name of an agent"),
    (spawn2(""), "'' cannot be the name"),
    (spawn2("root"), "'root' cannot be the name"),
    (spawn2("a/b"), "'a/b' cannot be the name"),
    (spawn2("ok", "  "), "an empty message"),
    (spawn2("ok", "x" * (LONGEST + 1)), "put the rest into a file"),
    (spawn2("ok", fork_turns="abc"), "`fork_turns` cannot be 'abc'"),
    (spawn2("ok", fork_turns="0"), "`fork_turns` cannot be '0'"),
    (spawn2("ok", fork_context=True), "say `fork_turns`"),
    (v2("spawn_agent", message="x"), "missing field 'task_name'"),
    (spawn2("ok", agent_type="pilot"), "no role 'pilot'"),
    (spawn2("ok", model="nothing-9"), "model 'nothing-9' is not known"),
    (spawn2("ok", reasoning_effort="gigantic"), "does not know the effort 'gigantic'"),
    (spawn2("ok", wings=1), "unknown fields 'wings'"),
    (v2("send_message", target="ghost", message="hi"), "live agent path `/root/ghost` not found"),
    (v2("send_message", target="Bad Name", message="hi"), "'Bad Name' is no path of an agent"),
    (v2("send_message", target="a/", message="hi"), "without a slash at the end"),
    (v2("send_message", target="/elsewhere", message="hi"), "is no path of an agent"),
    (v2("send_message", target=NOBODY, message="hi"), f"agent with id {NOBODY} not found"),
    (v2("send_message", target="/root", message=" "), "an empty message"),
    (v2("followup_task", target="/root", message="hi"), "/root is you yourself"),
    (v2("interrupt_agent", target="/root"), "/root is you yourself"),
    (v2("interrupt_agent", target="ghost"), "not found; these live: /root"),
    (v2("list_agents", path_prefix="a/"), "without a slash at the end"),
    (wait2(4_000_000), "`timeout_ms` must be at most 3600000"),
    (wait2(), "no other agent is at work"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[words for _, words in BAD])
async def test_what_makes_no_sense_is_answered_in_words(
    call: dict[str, Any], words: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2", settings=BOTH) as team:
        played = await team.play([call], DONE)
        alive = len(team.root.children)
        elapsed = trio.current_time()

    assert words in played.said("r0c0")
    assert not played.outputs["r0c0"].ok
    assert 0 == alive
    assert elapsed < 1
    assert paired(played.items)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            v2("followup_task", target="/root", message="hi"),
            b"/root is no agent that somebody made",
        ),
        (v2("followup_task", target="/root/middle", message="hi"), b"/root/middle made you"),
        (v2("interrupt_agent", target="/root/middle"), b"/root/middle made you"),
        (v2("interrupt_agent", target="/root/middle/leaf"), b"is you yourself"),
        (wait2(), b"this would wait for ever"),
    ],
)
async def test_nobody_gives_orders_to_who_made_him(
    call: dict[str, Any], words: bytes, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    leaf = script([{"sleep": 1}, call], [{"say": "tried"}])
    middle = script([spawn2("leaf", leaf)], [wait2()], [{"say": "middle done"}])
    async with open_team(tmp_path, "v2", settings=BOTH) as team:
        await team.play([spawn2("middle", middle)], [wait2()], DONE)
        said = b"".join(b"".join(prompt.input) for prompt in team.model.prompts)

    assert words in said


async def test_a_name_is_taken_while_its_agent_lives(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        played = await team.play([spawn2("a")], [wait2()], [spawn2("a")], DONE)

    assert "agent path `/root/a` already exists" in played.said("r2c0")


async def test_a_follow_up_starts_another_turn_and_is_answered(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    again = script([{"say": "second answer"}])
    async with open_team(tmp_path, "v2") as team:
        played = await team.play(
            [spawn2("a")],
            [wait2()],
            [v2("followup_task", target="a", message=again)],
            [wait2()],
            DONE,
        )

    assert "" == played.said("r2c0")
    assert ["child done", "second answer"] == [t.rpartition("\n")[2] for t in played.told]


async def test_a_message_joins_the_turn_and_starts_none(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    busy = script([{"call": "slow", "args": {}}], [{"say": "first"}])
    async with open_team(tmp_path, "v2") as team:
        played = await team.play(
            [spawn2("a", busy)],
            [v2("send_message", target="a", message="by the way")],
            [wait2(3_600_000)],
            [v2("send_message", target="/root/a", message="too late")],
            DONE,
        )
        [child] = team.root.children
        prompts = [p for p in team.model.prompts if p.thread_id == child.thread_id]

    assert 2 == len(prompts)
    assert b"by the way" in prompts[1].input[-1]
    assert "" == played.said("r3c0")


async def test_an_interrupt_stops_all_below_and_the_agent_lives_on(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    middle = script([spawn2("leaf", slow(1000))], [wait2(3_000_000)], [{"say": "middle done"}])
    async with open_team(tmp_path, "v2", settings=BOTH) as team:
        played = await team.play(
            [spawn2("middle", middle)],
            [{"call": "exec_wait", "args": {}}, {"call": "slow", "args": {}}],
            [v2("interrupt_agent", target="middle")],
            [v2("list_agents")],
            [v2("interrupt_agent", target="middle")],
            [v2("followup_task", target="middle", message=script([{"say": "second answer"}]))],
            [wait2()],
            DONE,
        )

    assert '{"previous_status":"running"}' == played.said("r2c0")
    assert '{"previous_status":"interrupted"}' == played.said("r4c0")
    statuses = [agent["agent_status"] for agent in played.json("r3c0")["agents"]]
    assert ["running", "interrupted", "interrupted"] == statuses
    assert ["second answer"] == [text.rpartition("\n")[2] for text in played.told]


async def test_a_wait_is_held_within_bounds_and_says_so(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        played = await team.play([spawn2("a", slow(100))], [wait2(-5)], DONE)
        elapsed = trio.current_time()

    clamped = "Requested timeout of -5ms was clamped to the minimum of 10000ms."
    expected = f'{{"message":"Wait timed out.\\n\\n{clamped}","timed_out":true}}'
    assert expected == played.said("r1c0")
    assert 10 <= elapsed < 11


async def test_what_a_user_says_ends_a_wait(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        task = await team.root.assign(script([spawn2("a", slow(100))], [wait2(90_000)], DONE))
        await trio.sleep(5)
        await team.root.steer("never mind")
        await task.wait()
        elapsed = trio.current_time()
        said = b"".join(b"".join(prompt.input) for prompt in team.model.prompts)

    assert b"Wait interrupted by new input." in said
    assert elapsed < 10


async def test_mail_that_waits_already_ends_a_wait_at_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        played = await team.play([spawn2("a"), {"call": "slow", "args": {}}, wait2(90_000)], DONE)
        elapsed = trio.current_time()

    assert "Wait completed." in played.said("r0c2")
    assert elapsed < 610


@pytest.mark.parametrize(("turns", "known"), [("all", True), ("1", True), ("none", False)])
async def test_forks(
    turns: str, known: bool, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        played = await team.play(
            [spawn2("a", script([{"say": "done"}]), fork_turns=turns)], [wait2()], DONE
        )
        [child] = team.root.children
        index = next(n for n, p in enumerate(team.model.prompts) if p.thread_id == child.thread_id)
        items = team.model.items(index)

    said = [getattr(item, "text", "") for item in items]
    assert known == any("SCRIPT" in text for text in said)
    assert 1 == sum(text.startswith("You are `/root/a`") for text in said)
    assert 0 == sum(text.startswith("You are `/root`:") for text in said)
    assert 1 == sum("<environment_context>" in text for text in said)
    assert played.told


async def test_a_child_that_fails_answers_with_the_failure(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    broken = script([{"http": 400, "body": {"error": {"message": "no such thing"}}}])
    async with open_team(tmp_path, "v2") as team:
        played = await team.play([spawn2("a", broken)], [wait2()], DONE)

    [told] = played.told
    assert "Agent errored: " in told
    assert "no such thing" in told
    assert "give it another task" in told


async def test_an_idle_root_is_woken_by_an_answer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, "v2") as team:
        await team.play([spawn2("a", slow(3))], DONE)
        await team.root.status.wait_value(lambda s: s == "running")
        await team.root.status.wait_value(lambda s: isinstance(s, Completed))
        last = [p for p in team.model.prompts if p.thread_id == team.root.thread_id][-1]

    assert b"FINAL_ANSWER" in last.input[-1]


async def test_names_and_tools_as_config_wishes(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    role = Role(name="scout", description="Looks around.", nicknames=("Kit",))
    more: dict[str, Any] = {"namespace": "team", "offers_wait": False, "offers_models": False}
    async with open_team(
        tmp_path, "v2", roles={"scout": role}, shows_nicknames=True, **more
    ) as team:
        call = {**spawn2("a", agent_type="scout"), "namespace": "team"}
        played = await team.play([call], DONE)
        tools = team.model.prompts[0].tools

    assert '{"task_name":"/root/a","nickname":"Kit"}' == played.said("r0c0")
    assert b'"name":"team"' in tools
    assert b"wait_agent" not in tools
    assert b"reasoning_effort" not in tools
    assert b"- `scout`: Looks around." in tools
    assert V2.encode() not in tools
