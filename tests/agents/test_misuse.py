"""Programs that use a tree in ways that nobody had in mind."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codex_actors.actors import SupervisorClosing
from codex_actors.agents import (
    AgentHandle,
    AgentServices,
    AgentSpec,
    NoSuchAgent,
    SpawnRefused,
    WaitRing,
    open_agents,
)
from codex_actors.models import Prompt
from codex_actors.protocol import (
    AgentPath,
    ModelEvent,
    Overrides,
    Role,
    TaskCompleted,
    TaskFailed,
    TextDelta,
    ThreadId,
    ToolCall,
    ToolOutput,
    TurnCompleted,
    WarningRaised,
)
from codex_actors.rollout import ThreadBusy, journal_path
from codex_actors.tools import ToolContext, answer

from .support import open_tree, remember, settings, tool, toolbox

HELLO = [[{"say": "hello"}]] * 9


class Unfinished:
    """Breaks its contract: its streams end, and no response was completed."""

    @asynccontextmanager
    async def stream(
        self, prompt: Prompt
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[ModelEvent], None]:
        send, receive = trio.open_memory_channel[ModelEvent](1)
        send.send_nowait(TextDelta("and then"))
        send.close()
        await trio.lowlevel.checkpoint()
        yield receive


async def test_a_stream_that_ends_without_an_end_fails_the_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, Unfinished()) as tree:
        root = await tree.spawn()
        with trio.fail_after(600):
            record = await (await root.assign("go")).wait()

    assert record.outcome == TaskFailed(
        "the model client's stream ended before ResponseCompleted", "other"
    )


async def test_tasks_of_another_tree_can_be_waited_for(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember()) as tree, open_tree(tmp_path, remember()) as other:
        slow = await (await tree.spawn()).assign('SCRIPT [[{"call": "slow"}]]')
        task = await (await other.spawn()).assign("go")
        with trio.fail_after(60):
            [record] = await tree.wait_any([slow, task])

    assert record.id == task.id


async def test_an_agent_of_another_tree_cannot_be_told(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember()) as tree, open_tree(tmp_path, remember()) as other:
        root, stranger = await tree.spawn(), await other.spawn()
        with pytest.raises(NoSuchAgent, match=stranger.thread_id):
            await root.assign("go", reply_to=stranger)


async def test_a_tool_cannot_wait_for_the_end_of_its_own_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    errors: list[WaitRing] = []

    async def idle(call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            await tree.agent(context.thread_id).wait_idle()
        except WaitRing as error:
            errors.append(error)
        return answer(call, "not idle")

    model = remember([{"call": "idle"}], [{"say": "hello"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn(AgentSpec(tools=(tool("idle", idle),)))
        with trio.fail_after(60):
            record = await (await root.assign("go")).wait()

    assert ([("/root",)], TaskCompleted("hello")) == ([e.ring for e in errors], record.outcome)


async def test_a_root_has_what_its_role_says(tmp_path: Path) -> None:
    role = Role(name="pirate", model="other", effort="high", instructions="Say arr.")
    async with open_tree(tmp_path, remember(), output_schema={"type": "object"}) as tree:
        spec = AgentSpec(role=role, instructions="Often.", overrides=Overrides(effort="low"))
        settings = (await tree.spawn(spec)).settings

    assert settings.model.slug == "other"
    assert settings.effort == "low"
    assert settings.developer_instructions == "Say arr.\n\nOften."
    assert settings.output_schema == {"type": "object"}


async def test_an_agent_that_is_being_made_can_be_closed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(root.spawn, AgentSpec(name="hand"))
            while not root.children:
                await trio.lowlevel.checkpoint()
            [hand] = root.children
            assert hand._desk.ref is None
            with trio.fail_after(5):
                await hand.close()

        assert () == root.children
        assert (await root.spawn(AgentSpec(name="hand"))).path.name == "hand"


async def test_what_cannot_be_had_of_a_child_is_refused(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        with pytest.raises(SpawnRefused, match="resume"):
            await root.spawn(AgentSpec(resume="some-thread"))
        with pytest.raises(ValueError, match="seconds"):
            await root.assign("go", seconds=math.nan)

        assert () == root.children


@pytest.mark.parametrize(
    "values",
    [{"grace": math.nan}, {"grace": -1.0}, {"fork": "some"}, {"fork": 1.5}, {"fork": True}],
    ids=str,
)
def test_specs_that_are_none(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        AgentSpec(**values)


async def test_a_tree_that_has_ended_opens_nothing(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
        pass
    with pytest.raises(SupervisorClosing):
        await tree.spawn()

    assert [] == list(tmp_path.iterdir())


async def make_stored_tree(home: Path) -> list[ThreadId]:
    async with open_tree(home, remember(*HELLO), ephemeral=False) as tree:
        root = await tree.spawn()
        hand = await root.spawn(AgentSpec(name="hand"))
        for agent in (root, hand):
            await (await agent.assign("go")).wait()
        return [root.thread_id, hand.thread_id]


async def says_hello(agent: AgentHandle) -> bool:
    record = await (await agent.assign("go")).wait()
    return record.outcome == TaskCompleted("hello")


async def test_a_resume_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    [thread_id, _] = await make_stored_tree(tmp_path)

    def break_down(_: AgentPath) -> tuple[()]:
        raise RuntimeError("no tools today")

    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
        with pytest.raises(RuntimeError, match="no tools"):
            await tree.spawn(AgentSpec(resume=thread_id, tools_below=break_down))
        root = await tree.spawn(AgentSpec(resume=thread_id))

        assert await says_hello(root)
        assert ["/root/hand"] == [child.path.text for child in root.children]


async def test_a_root_that_was_closed_can_be_resumed_in_its_tree(tmp_path: Path) -> None:
    [thread_id, _] = await make_stored_tree(tmp_path)
    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
        for _ in range(2):
            root = await tree.spawn(AgentSpec(resume=thread_id))
            assert await says_hello(root)
            assert await says_hello(root.children[0])
            await root.close()


async def test_an_agent_is_no_root_elsewhere_while_its_tree_is_at_work(tmp_path: Path) -> None:
    [thread_id, hand_id] = await make_stored_tree(tmp_path)
    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
        await tree.spawn(AgentSpec(resume=thread_id))
        async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as other:
            with pytest.raises(ThreadBusy, match=thread_id):
                await other.spawn(AgentSpec(resume=hand_id))
    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as other:
        assert await says_hello(await other.spawn(AgentSpec(resume=hand_id)))
        async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
            with pytest.raises(ThreadBusy, match=thread_id):
                await tree.spawn(AgentSpec(resume=thread_id))


@pytest.mark.parametrize(
    ("field", "value"),
    [('"fork":"none"', f'"fork":"{"9" * 5000}"'), ('"grace":15.0', '"grace":-1')],
)
async def test_a_journal_with_absurd_numbers(tmp_path: Path, field: str, value: str) -> None:
    [thread_id, _] = await make_stored_tree(tmp_path)
    path = Path(journal_path(str(tmp_path), thread_id))
    path.write_text(path.read_text().replace(field, value))
    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
        root = await tree.spawn(AgentSpec(resume=thread_id))

        assert await says_hello(root.children[0])


async def test_a_clock_that_is_set_back_makes_no_time_negative(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    ticks = iter(range(10_000, 0, -1))
    model = remember([{"call": "hi"}], [{"say": "hello"}])
    services = AgentServices(model=model, toolbox=toolbox, now=lambda: float(next(ticks)))
    async with open_agents(settings(tmp_path), services=services) as tree:
        task = await (await tree.spawn()).assign("go")
        async with task.events() as events:
            [ended] = [e.msg async for e in events if isinstance(e.msg, TurnCompleted)]

    assert (0, 0) == (ended.duration_ms, ended.time_to_first_token_ms)


async def test_a_rollout_that_cannot_be_read_keeps_nobody_else_down(tmp_path: Path) -> None:
    [thread_id, hand_id] = await make_stored_tree(tmp_path)
    [path] = [p for p in tmp_path.rglob("rollout-*") if hand_id in p.name]
    path.unlink()
    path.symlink_to(path.name)  # a permission would not keep the superuser from reading
    async with open_tree(tmp_path, remember(*HELLO), ephemeral=False) as tree:
        async with tree.events() as events:
            root = await tree.spawn(AgentSpec(resume=thread_id))
            warned = [await events.receive()]
            while not isinstance(getattr(warned[-1], "msg", None), WarningRaised):
                warned.append(await events.receive())

        assert path.name in str(warned[-1])
        assert await says_hello(root)
        outcome = (await (await root.children[0].assign("go")).wait()).outcome
        assert isinstance(outcome, TaskFailed)
        assert "cannot be read" in outcome.message


@pytest.mark.parametrize("session", ["../outside", "\\u0000", "x" * 5000, ""])
async def test_a_rollout_with_an_absurd_session(tmp_path: Path, session: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    [thread_id, hand_id] = await make_stored_tree(home)
    [path] = [p for p in home.rglob("rollout-*") if hand_id in p.name]
    before = f'"session_id":"{thread_id}"'
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, f'"session_id":"{session}"'))
    async with open_tree(home, remember(*HELLO), ephemeral=False) as tree:
        assert await says_hello(await tree.spawn(AgentSpec(resume=hand_id)))

        assert [home] == list(tmp_path.iterdir())


async def test_handles_of_one_agent_are_equal_and_of_two_are_not(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember()) as tree:
        root = await tree.spawn()
        child = await root.spawn(AgentSpec(name="child"))
        same = {child, tree.agent("/root/child"), tree.agent(child.thread_id), root.children[0]}

        assert {child} == same
        assert child.parent == root != child
        await child.close()
        assert child != await root.spawn(AgentSpec(name="child"))
