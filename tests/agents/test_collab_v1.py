"""The first generation of tools, played through by scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from codex_actors.agents._collab_input import LONGEST
from codex_actors.protocol import Completed, Role

from .support import KNOWN, OTHER
from .team import DONE, KID, NOBODY, V1, Played, open_team, paired, script, slow, spawn, v1, wait


async def test_spawn_wait_and_close(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn()],
            [wait("$r0c0.agent_id")],
            [v1("close_agent", target="$r0c0.agent_id")],
            DONE,
        )
        name = played.json("r0c0")["agent_id"]
        nickname = played.json("r0c0")["nickname"]

        assert f'{{"agent_id":"{name}","nickname":"{nickname}"}}' == played.said("r0c0")
        status = f'{{"status":{{"{name}":{{"completed":"child done"}}}},"timed_out":false}}'
        assert status == played.said("r1c0")
        assert '{"previous_status":{"completed":"child done"}}' == played.said("r2c0")
        notice = f'{{"agent_path":"{name}","status":{{"completed":"child done"}}}}'
        assert [f"<subagent_notification>\n{notice}\n</subagent_notification>"] == played.told
        tools = ("spawn_agent", "wait", "close_agent")
        assert [
            pair
            for tool in tools
            for pair in (
                ("ItemStarted", tool, "in_progress"),
                ("ItemCompleted", tool, "completed"),
            )
        ] == played.items
        assert () == team.root.children


async def test_a_child_says_whose_it_is(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        await team.play([spawn()], [wait("$r0c0.agent_id")], DONE)
        [child] = team.root.children
        prompts = [p for p in team.model.prompts if p.thread_id == child.thread_id]

    assert child.path.parent == team.root.path
    assert (
        ("x-codex-parent-thread-id", team.root.thread_id),
        ("x-openai-subagent", "collab_spawn"),
    ) == prompts[0].headers
    assert b'"x-openai-subagent":"collab_spawn"' in prompts[0].metadata


async def test_who_is_as_deep_as_may_be_has_no_such_tools(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    inner = script([spawn()], [{"say": "tried"}])
    async with open_team(tmp_path) as team:
        played = await team.play([spawn(inner)], [wait("$r0c0.agent_id")], DONE)
        roots, childs = (
            [p for p in team.model.prompts if (p.thread_id == team.root.thread_id) is own]
            for own in (True, False)
        )

    assert V1.encode() in roots[0].tools
    assert V1.encode() not in childs[0].tools
    assert {"completed": "tried"} in played.json("r1c0")["status"].values()


async def test_agents_below_agents(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    inner = script([spawn()], [wait("$r0c0.agent_id")], [{"say": "middle done"}])
    async with open_team(tmp_path, depth=2) as team:
        played = await team.play([spawn(inner)], [wait("$r0c0.agent_id")], DONE)
        depths = [agent.path.count("/") for agent in team.tree.snapshot()]

    assert {"completed": "middle done"} in played.json("r1c0")["status"].values()
    assert [1, 2, 3] == depths


async def test_finished_agents_hold_no_place_and_busy_ones_are_named(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, at_work=1) as team:
        played = await team.play(
            [spawn()],
            [wait("$r0c0.agent_id")],
            [spawn(slow(5))],
            [spawn()],
            [wait("$r2c0.agent_id")],
            DONE,
        )

    assert "nickname" in played.said("r2c0")
    assert played.said("r3c0").startswith("agent thread limit reached: 1 may be at work at once")
    assert "/root/" in played.said("r3c0")
    assert ("ItemCompleted", "spawn_agent", "failed") in played.items


async def test_a_thousand_spawns_in_one_response(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play([spawn(slow(60)) for _ in range(1000)], DONE)
        alive = len(team.root.children)

    assert 6 == alive
    outputs = played.outputs.values()
    assert 994 == sum("agent thread limit reached" in output.text for output in outputs)
    assert paired(played.items)


BAD: list[tuple[dict[str, Any], str]] = [
    (wait("nobody"), "'nobody' is no id of an agent; there is no agent but you"),
    (wait(), "`targets` is empty"),
    (wait(NOBODY, ms=0), "`timeout_ms` must be above 0"),
    (v1("close_agent", target="nobody"), "'nobody' is no id"),
    (v1("close_agent", target=NOBODY), f"agent with id {NOBODY} not found"),
    (v1("send_input", target=NOBODY, message="hi"), f"agent with id {NOBODY} not found"),
    (v1("resume_agent", id=NOBODY), f"agent with id {NOBODY} not found"),
    (spawn("  "), "an empty message"),
    (v1("spawn_agent"), "neither `message` nor `items`"),
    (spawn("x", items=[{"type": "text", "text": "y"}]), "both there"),
    (v1("spawn_agent", items=[]), "`items` is empty"),
    (v1("spawn_agent", items=[{"type": "text", "text": " "}]), "an empty message"),
    (v1("spawn_agent", items=[{"type": "mention", "name": "a", "path": "b"}]), "add a `text`"),
    (v1("spawn_agent", items=[{"type": "audio", "audio_url": "data:"}]), "'audio'"),
    (spawn("x" * (LONGEST + 1)), f"{LONGEST + 1} characters"),
    (spawn(agent_type="pilot"), "no role 'pilot'; choose among 'default', 'explorer', 'worker'"),
    (spawn(fork_context=True, agent_type="worker"), "leave `agent_type` out"),
    (spawn(model="nothing-9"), "model 'nothing-9' is not known; choose among 'known', 'other'"),
    (spawn(reasoning_effort="gigantic"), "does not know the effort 'gigantic'"),
    (spawn(service_tier="golden"), "service tier 'golden' cannot be chosen"),
    (v1("wait_agent", targets="x"), "failed to parse function arguments"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[words for _, words in BAD])
async def test_what_makes_no_sense_is_answered_in_words(
    call: dict[str, Any], words: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = attrs.evolve(KNOWN, efforts=("low",))
    more = {"model": model, "models": {"known": model, "other": OTHER}}
    async with open_team(tmp_path, settings=more) as team:
        played = await team.play([call], DONE)
        alive = len(team.root.children)

    assert words in played.said("r0c0")
    assert not played.outputs["r0c0"].ok
    assert 0 == alive
    assert paired(played.items)


async def test_a_task_of_ten_million_characters_is_refused(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play([spawn("x" * 10_000_000)], DONE)

    assert "put the rest into a file" in played.said("r0c0")


async def test_unknown_ids_are_not_found(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play([wait(NOBODY)], DONE)

    assert f'{{"status":{{"{NOBODY}":"not_found"}},"timed_out":false}}' == played.said("r0c0")
    assert "failed" == played.ended("r0c0").status


@pytest.mark.parametrize("tool", ["wait_agent", "close_agent", "send_input"])
async def test_nobody_acts_on_himself_or_on_who_made_him(
    tool: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, depth=2) as team:

        def about(name: str) -> dict[str, Any]:
            key: Any = {"targets": [name]} if tool == "wait_agent" else {"target": name}
            return v1(tool, **key, **({"message": "hi"} if tool == "send_input" else {}))

        played = await team.play([about(team.root.thread_id)], DONE)
        inner = script([about(team.root.thread_id)], [{"say": "tried"}])
        await team.play([spawn(inner)], [wait("$r0c0.agent_id")], DONE)
        [child] = team.root.children
        items = team.model.items(-1)
        last = [p for p in team.model.prompts if p.thread_id == child.thread_id][-1]

    assert "is you yourself" in played.said("r0c0")
    assert items
    assert b"which your turn ends" in b"".join(last.input)


async def test_a_wait_that_times_out_says_nothing_against_the_agent(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play([spawn(slow(15))], [wait("$r0c0.agent_id", ms=1)], DONE)
        elapsed = trio.current_time()

    assert '{"status":{},"timed_out":true}' == played.said("r1c0")
    assert "completed" == played.ended("r1c0").status
    assert 10 <= elapsed < 15


async def test_the_first_of_several_ends_the_wait(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn(slow(2, "quick")), spawn(slow(6, "slow"))],
            [wait("$r0c0.agent_id", "$r0c1.agent_id")],
            [wait("$r0c1.agent_id")],
            DONE,
        )

    assert [{"completed": "quick"}] == list(played.json("r1c0")["status"].values())
    assert [{"completed": "slow"}] == list(played.json("r2c0")["status"].values())


async def test_a_follow_up_is_never_answered_with_the_answer_before(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    again = slow(3, "second answer")
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn()],
            [wait("$r0c0.agent_id")],
            [v1("send_input", target="$r0c0.agent_id", message=again)],
            [wait("$r0c0.agent_id")],
            DONE,
        )

    assert [{"completed": "second answer"}] == list(played.json("r3c0")["status"].values())
    assert ["submission_id"] == list(played.json("r2c0"))
    assert 2 == len(played.told)


async def test_input_joins_a_running_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    busy = script([{"call": "slow", "args": {}}], [{"say": "first"}])
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn(busy)],
            [{"call": "hi", "args": {}}],
            [v1("send_input", target="$r0c0.agent_id", message="by the way")],
            [wait("$r0c0.agent_id", ms=3_600_000)],
            DONE,
        )
        [child] = team.root.children
        prompts = [p for p in team.model.prompts if p.thread_id == child.thread_id]

    assert [{"completed": "first"}] == list(played.json("r3c0")["status"].values())
    assert b"by the way" in prompts[1].input[-1]
    assert 2 == len(prompts)


async def test_input_takes_the_place_of_what_an_agent_is_at(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    busy = script([{"call": "slow", "args": {}}], [{"say": "first"}])
    second = script([{"say": "second answer"}])
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn(busy)],
            [{"call": "hi", "args": {}}],
            [v1("send_input", target="$r0c0.agent_id", message=second, interrupt=True)],
            [wait("$r0c0.agent_id")],
            DONE,
        )

    assert [{"completed": "second answer"}] == list(played.json("r3c0")["status"].values())
    assert 1 == len(played.told), "who interrupts needs not be told of it"
    assert {"interrupted"} == set(played.ended("r2c0").agents_states.values())


async def test_a_running_agent_can_be_closed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    target = "$r0c0.agent_id"
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn(slow(100))],
            [{"call": "hi", "args": {}}],
            [v1("close_agent", target=target)],
            [wait(target)],
            [v1("close_agent", target=target)],
            DONE,
        )

    assert '{"previous_status":"running"}' == played.said("r2c0")
    assert ["not_found"] == list(played.json("r3c0")["status"].values())
    assert "not found" in played.said("r4c0")
    assert [True] == ['"status":"shutdown"' in text for text in played.told]


async def test_a_closed_agent_comes_back_with_those_that_were_closed_along(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    inner = script([spawn()], [wait("$r0c0.agent_id")], [{"say": "middle done"}])
    target = "$r0c0.agent_id"
    again = script([{"say": "again"}])
    async with open_team(tmp_path, depth=2) as team:
        played = await team.play(
            [spawn(inner)],
            [wait(target)],
            [v1("close_agent", target=target)],
            [v1("resume_agent", id=target)],
            [v1("resume_agent", id=target)],
            [v1("send_input", target=target, message=again)],
            [wait(target)],
            DONE,
        )
        [child] = team.root.children
        below = len(child.children)
        last = [p for p in team.model.prompts if p.thread_id == child.thread_id][-1]

    assert '{"status":"pending_init"}' == played.said("r3c0") == played.said("r4c0")
    assert [{"completed": "again"}] == list(played.json("r6c0")["status"].values())
    assert 1 == below
    assert b"middle done" in b"".join(last.input)


async def test_a_fork_knows_what_was_said(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        await team.root.assign("the word is mellon")
        await team.play([spawn(fork_context=True)], [wait("$r0c0.agent_id")], DONE)
        [child] = team.root.children
        prompt = next(p for p in team.model.prompts if p.thread_id == child.thread_id)

    assert b"mellon" in b"".join(prompt.input)


async def test_a_child_whose_model_fails_is_shown_as_failed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    broken = script([{"http": 400, "body": {"error": {"message": "no such thing"}}}])
    async with open_team(tmp_path) as team:
        played = await team.play(
            [spawn(broken)],
            [wait("$r0c0.agent_id")],
            [v1("close_agent", target="$r0c0.agent_id")],
            DONE,
        )

    [status] = played.json("r1c0")["status"].values()
    assert "no such thing" in status["errored"]
    assert "no such thing" in played.told[0]
    ends = [item for item in played.items if item[0] == "ItemCompleted"]
    assert ["completed", "failed", "failed"] == [status for _, _, status in ends]


async def test_an_idle_root_is_woken_when_its_agent_has_finished(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        await team.play([spawn(slow(3))], DONE)
        await team.root.status.wait_value(lambda s: s == "running")
        await team.root.status.wait_value(lambda s: isinstance(s, Completed))
        last = [p for p in team.model.prompts if p.thread_id == team.root.thread_id][-1]

    assert b"subagent_notification" in last.input[-1]


async def test_a_root_that_a_person_stopped_is_not_woken(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        await team.play([spawn(slow(3))], DONE)
        await team.root.interrupt()
        await trio.sleep(60)
        prompts = [p for p in team.model.prompts if p.thread_id == team.root.thread_id]

    assert 2 == len(prompts)


async def test_roles_of_config_narrow_and_name(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    reviewer = Role(
        name="reviewer",
        description="Reads code.",
        instructions="You review.",
        model="other",
        without_tools=("slow",),
        nicknames=("Rex",),
    )
    async with open_team(tmp_path, roles={"reviewer": reviewer}) as team:
        played = await team.play(
            [spawn(agent_type="reviewer"), spawn(agent_type="reviewer")],
            [wait("$r0c0.agent_id"), wait("$r0c1.agent_id")],
            DONE,
        )
        roots = next(p for p in team.model.prompts if p.thread_id == team.root.thread_id)
        childs = next(p for p in team.model.prompts if p.thread_id != team.root.thread_id)

    assert ["Rex", "Rex the 2nd"] == [played.json(f"r0c{n}")["nickname"] for n in range(2)]
    assert b"- `reviewer`: Reads code. Always has model other." in roots.tools
    assert b"agent_type" in roots.tools
    assert b'"name":"slow"' not in childs.tools
    assert "other" == childs.model == played.ended("r0c0").model
    assert b"You review." in b"".join(childs.input)
    assert "reviewer" == played.ended("r0c0").receiver_agents[0].agent_role


async def test_a_default_model_is_for_who_has_no_other(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, model="other") as team:
        await team.play(
            [spawn(), spawn(model="known")], [wait("$r0c0.agent_id", "$r0c1.agent_id")], DONE
        )
        models = [child.settings.model.slug for child in team.root.children]

    assert ["other", "known"] == models


async def test_parents_that_wait_for_each_other_are_told(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path, depth=2) as team:
        first = await team.root.spawn()
        second = await team.root.spawn()
        one = await first.assign(script([wait(second.thread_id)], [{"say": "one"}]))
        two = await second.assign(script([wait(first.thread_id)], [{"say": "two"}]))
        with trio.fail_after(10):
            await one.wait()
            await two.wait()
        said = b"".join(b"".join(prompt.input) for prompt in team.model.prompts)

    assert b"this would wait for ever" in said


async def test_an_interrupt_ends_a_wait_and_its_item(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        task = await team.root.assign(
            script([spawn(slow(100))], [wait("$r0c0.agent_id", ms=90_000)], DONE)
        )
        await trio.sleep(5)
        await team.root.interrupt()
        await task.wait()
        async with task.events() as events:
            msgs = [event.msg async for event in events]
    assert paired(Played(events=msgs).items)


async def test_the_environment_shows_the_agents(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_team(tmp_path) as team:
        played = await team.play([spawn(KID)], [wait("$r0c0.agent_id")], DONE)
        await team.play(DONE)
        last = [p for p in team.model.prompts if p.thread_id == team.root.thread_id][-1]

    born = played.json("r0c0")
    shown = f"  <subagents>\\n    - {born['agent_id']}: {born['nickname']}\\n  </subagents>"
    assert shown.encode() in b"".join(last.input)
