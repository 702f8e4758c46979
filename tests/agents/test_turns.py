"""What a turn of an agent does, from the outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.actors import ActorTerminated
from codex_actors.agents import (
    AgentServices,
    AgentSpec,
    EmptyInput,
    OperationRefused,
    SandboxUnavailable,
    open_agents,
)
from codex_actors.protocol import (
    AgentMessageRecorded,
    Completed,
    Errored,
    ErrorOccurred,
    InjectItems,
    Message,
    Overrides,
    OverrideSettings,
    Settings,
    StreamBroke,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskRecord,
    TokensCounted,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    WorkspaceWrite,
    user_message,
)
from codex_actors.tools import Toolbox
from tests.agents.support import (
    Remembering,
    collect,
    names,
    open_tree,
    remember,
    say_hi,
    settings,
    tool,
    toolbox,
)


def outputs(model: Remembering, number: int) -> list[str]:
    return [i.text for i in model.items(number) if isinstance(i, ToolOutput)]


async def test_events_of_a_plain_turn_come_in_order(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember([{"say": "hello"}])) as tree:
        root = await tree.spawn()
        task = await root.assign("hi")
        msgs = await collect(task.events())

        assert names([m for m in msgs if not re.search("Delta|Raw", type(m).__name__)]) == [
            "TurnStarted",
            "ItemStarted",
            "ItemCompleted",
            "UserMessageRecorded",
            "ItemStarted",
            "ItemCompleted",
            "AgentMessageRecorded",
            "TokensCounted",
            "TurnCompleted",
        ]
        assert (await task.wait()).outcome == TaskCompleted("hello")
        assert root.status.get() == Completed("hello")
        assert root.usage.total_token_usage.total_tokens == 110


async def test_tokens_are_counted_by_the_time_that_a_task_has_ended(tmp_path: Path) -> None:
    seen: list[int] = []

    async with open_tree(tmp_path, remember([{"say": "hello"}])) as tree:
        root = await tree.spawn()
        task = await root.assign("hi")

        def has_ended(record: TaskRecord) -> bool:
            if record.outcome is not None:
                seen.append(root.usage.total_token_usage.total_tokens)
                seen.append(tree.snapshot()[0].total_tokens)
            return record.outcome is not None

        await task.record.wait_value(has_ended)

    assert [110, 110] == seen


async def test_the_first_request_tells_rules_and_surroundings(tmp_path: Path) -> None:
    model = remember([{"say": "hello"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn(AgentSpec(instructions="Be kind."))
        await (await root.assign("hi")).wait()
    rules, surroundings, said = model.items(0)

    assert isinstance(rules, Message)
    assert rules.role == "developer"
    assert "<permissions instructions>" in rules.text
    assert "Be kind." in rules.text
    assert isinstance(surroundings, Message)
    assert surroundings.role == "user"
    assert "<cwd>/tmp</cwd>" in surroundings.text
    assert said == user_message("hi")


async def test_parallel_calls_overlap_and_answer_in_order(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember(
        [{"call": "slow", "args": {}}, {"call": "hi", "args": {}}, {"call": "slow", "args": {}}],
        [{"say": "done"}],
    )
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        began = trio.current_time()
        await (await root.assign("go")).wait()

        assert trio.current_time() - began == pytest.approx(600, abs=1)
    assert outputs(model, 1) == ["at last", "hi", "at last"]


async def test_an_exclusive_call_waits_its_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember(
        [{"call": "serial", "args": {}}, {"call": "serial", "args": {}}], [{"say": "done"}]
    )
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        began = trio.current_time()
        await (await root.assign("go")).wait()

        assert trio.current_time() - began == pytest.approx(1200, abs=1)


async def test_a_tool_starts_before_the_stream_ends(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}, {"sleep": 600}], [{"say": "done"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        began = trio.current_time()
        await (await root.assign("go")).wait()

        assert trio.current_time() - began == pytest.approx(600, abs=1)


async def test_unknown_tools_are_answered(tmp_path: Path) -> None:
    model = remember(
        [{"call": "nope", "args": {}}, {"custom": "nope", "input": ""}], [{"say": "ok"}]
    )
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await (await root.assign("go")).wait()

    assert outputs(model, 1) == ["unsupported call: nope", "unsupported custom tool call: nope"]


async def test_interrupt_ends_the_turn_and_the_agent_lives_on(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember(
        [{"call": "slow", "args": {}}, {"call": "slow_command", "args": {}}], [{"say": "again"}]
    )
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task, waiting = await root.assign("go"), await root.assign("and then")
        await trio.sleep(30)

        assert task.progress().running_tools == ("slow",)
        await root.interrupt("somebody")
        assert root.status.get() == "interrupted"
        assert (await task.wait()).outcome == TaskInterrupted("somebody")
        assert (await waiting.wait()).outcome == TaskInterrupted("somebody")
        msgs = await collect(task.events())
        assert isinstance(msgs[-1], TurnAborted)
        assert msgs[-1].reason == "interrupted"
        assert msgs[-1].interrupted_by == "somebody"
        assert (await (await root.assign("once more")).wait()).outcome == TaskCompleted("again")
    assert outputs(model, 1) == ["aborted by user after 30.0s", "aborted"]
    marker = model.items(1)[-2]
    assert isinstance(marker, Message)
    assert marker.text.startswith("<turn_aborted>")


async def test_a_command_that_is_cut_off_says_how_long_it_ran(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow_command", "args": {}}], [{"say": "again"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await root.assign("go")
        await trio.sleep(2.5)
        await root.interrupt()
        await (await root.assign("once more")).wait()

    assert outputs(model, 1) == ["Wall time: 2.5 seconds\naborted by user"]


async def test_an_interrupt_keeps_what_had_finished(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}, {"call": "hi", "args": {}}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await root.assign("go")
        await trio.sleep(1)
        await root.interrupt()
        await (await root.assign("once more")).wait()

    assert outputs(model, 1) == ["aborted by user after 1.0s", "hi"]


async def test_what_an_interrupted_turn_used_is_counted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        await root.interrupt()

        *_, counted, aborted = await collect(task.events())
        assert isinstance(aborted, TurnAborted)
        assert isinstance(counted, TokensCounted)
        assert counted.info == root.usage
        assert 0 < root.usage.total_token_usage.total_tokens == root.spent.tokens
        await (await root.assign("once more")).wait()
        assert root.usage.total_token_usage.total_tokens == root.spent.tokens


async def test_interrupting_an_idle_agent_does_nothing(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
        root = await tree.spawn()
        await root.interrupt()

        assert (await (await root.assign("go")).wait()).outcome == TaskCompleted("ok")


async def test_a_stubborn_tool_is_named_and_left_behind(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember([{"call": "stubborn", "args": {}}])) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        began = trio.current_time()
        await root.interrupt()

        assert trio.current_time() - began == pytest.approx(5)
        aborted = (await collect(task.events()))[-1]
        assert isinstance(aborted, TurnAborted)
        assert aborted.still_running == ("r0c0",)


async def test_a_tool_that_raises_fails_the_turn_and_not_the_agent(tmp_path: Path) -> None:
    model = remember([{"call": "broken", "args": {}}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        record = await task.wait()

        assert isinstance(record.outcome, TaskFailed)
        assert "boom" in record.outcome.message
        assert isinstance(root.status.get(), Errored)
        assert (await (await root.assign("again")).wait()).outcome == TaskCompleted("ok")
    assert outputs(model, 1) == ["internal error"]


async def test_a_model_client_that_raises_fails_the_turn_and_not_the_agent(
    tmp_path: Path,
) -> None:
    class Broken:
        def stream(self, prompt: object) -> object:
            raise RuntimeError("no such thing")

    async with open_tree(tmp_path, Broken()) as tree:  # type: ignore[arg-type]
        root = await tree.spawn()
        record = await (await root.assign("go")).wait()

        assert isinstance(record.outcome, TaskFailed)
        assert "no such thing" in record.outcome.message


async def test_a_broken_stream_is_tried_again_from_the_history(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "hi", "args": {}}, {"drop": True}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")

        assert (await task.wait()).outcome == TaskCompleted("ok")
        broken = [m for m in await collect(task.events()) if isinstance(m, StreamBroke)]
        assert [m.message for m in broken] == ["Reconnecting... 1/2"]
    assert outputs(model, 1) == ["hi"]


async def test_a_stream_that_keeps_breaking_fails_the_turn_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember([{"drop": True}])) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        msgs = await collect(task.events())

        assert len([m for m in msgs if isinstance(m, StreamBroke)]) == 2
        assert len([m for m in msgs if isinstance(m, ErrorOccurred)]) == 1
        assert isinstance(msgs[-1], TurnCompleted)
        assert isinstance((await task.wait()).outcome, TaskFailed)


async def test_steering_joins_the_running_turn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        turn_id = task.record.get().turn_id
        accepted = await root.steer("and quickly", expected_turn_id=turn_id)

        assert accepted.steered
        assert accepted.turn_id == turn_id
        with pytest.raises(OperationRefused, match="not 'another'"):
            await root.steer("no", expected_turn_id="another")
        assert (await task.wait()).outcome == TaskCompleted("ok")
    assert model.items(1)[-1] == user_message("and quickly")


async def test_steering_reopens_a_turn_after_its_answer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"say": "done"}, {"sleep": 5}], [{"say": "done twice"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        await root.steer("one thing more")

        assert (await task.wait()).outcome == TaskCompleted("done twice")


async def test_there_is_nothing_to_steer_in_an_idle_agent(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
        root = await tree.spawn()

        with pytest.raises(OperationRefused, match="no running turn"):
            await root.steer("hello?")


@pytest.mark.parametrize("nothing", ["", " \n\t "])
async def test_white_space_is_no_task(tmp_path: Path, nothing: str) -> None:
    async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
        root = await tree.spawn()

        with pytest.raises(EmptyInput, match="say what is to be done"):
            await root.assign(nothing)


async def test_changed_settings_are_told_and_stay(tmp_path: Path) -> None:
    model = remember([{"say": "1"}], [{"say": "2"}], [{"say": "3"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await (await root.assign("one")).wait()
        await (await root.assign("two", overrides=Overrides(cwd="/", model="other"))).wait()
        await root.submit(OverrideSettings(Overrides(effort="high")))
        await (await root.assign("three")).wait()

    assert [p.model for p in model.prompts] == ["known", "other", "other"]
    assert [p.effort for p in model.prompts] == [None, None, "high"]
    switch, moved, _ = model.items(1)[-3:]
    assert isinstance(switch, Message)
    assert "<model_switch>" in switch.text
    assert isinstance(moved, Message)
    assert "<cwd>/</cwd>" in moved.text
    assert "<permissions" not in switch.text
    assert model.items(2)[-1] == user_message("three")
    assert isinstance(model.items(2)[-2], Message)


async def test_an_output_schema_holds_for_its_turn(tmp_path: Path) -> None:
    model = remember([{"say": "{}"}], [{"say": "ok"}])
    schema = {"type": "object"}
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await (await root.assign("one", output_schema=schema)).wait()
        await (await root.assign("two")).wait()

    assert [p.output_schema for p in model.prompts] == [schema, None]


async def test_injected_items_are_in_the_next_request(tmp_path: Path) -> None:
    model = remember([{"say": "ok"}])
    call = ToolCall(call_id="x", name="hi", arguments="{}")
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        await root.submit(InjectItems((user_message("by the way"), call)))
        await (await root.assign("go")).wait()

    injected, same_call, filled = model.items(0)[:3]
    assert injected == user_message("by the way")
    assert same_call == call
    assert filled == ToolOutput(call_id="x", output="aborted")


async def test_a_policy_that_cannot_be_enforced_is_refused(tmp_path: Path) -> None:
    # Commands could change whatever would confine the next ones.
    everything = WorkspaceWrite(writable_roots=("/",))
    async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
        root = await tree.spawn()

        with pytest.raises(SandboxUnavailable, match="'workspace-write'"):
            await root.assign("go", overrides=Overrides(sandbox_policy=everything))
    async with open_tree(tmp_path, remember(), sandbox_policy=everything) as tree:
        with pytest.raises(SandboxUnavailable, match="danger-full-access"):
            await tree.spawn()


async def test_closing_an_agent_ends_its_turn_in_order(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember([{"call": "slow", "args": {}}])) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        await trio.sleep(1)
        report = await root.close()

        assert report.exit.reason == "stopped"
        assert root.status.get() == "shutdown"
        assert (await task.wait()).outcome == TaskInterrupted("shutdown")
        with pytest.raises(ActorTerminated):
            await root.assign("anything")


async def test_leaving_the_tree_settles_everything(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_tree(tmp_path, remember([{"call": "slow", "args": {}}])) as tree:
        root = await tree.spawn()
        running, waiting = await root.assign("go"), await root.assign("then")
        await trio.sleep(1)

    assert (await running.wait()).outcome == TaskInterrupted("shutdown")
    assert (await waiting.wait()).outcome == TaskInterrupted("shutdown")


async def test_a_cancelled_tree_settles_everything(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with trio.move_on_after(1) as scope:
        async with open_tree(tmp_path, remember([{"call": "slow", "args": {}}])) as tree:
            root = await tree.spawn()
            task = await root.assign("go")
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert (await task.wait()).outcome == TaskInterrupted("shutdown")
    msgs = await collect(task.events())
    assert isinstance(msgs[-1], TurnAborted)


async def test_an_exception_in_the_block_comes_out_bare(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
            await tree.spawn()
            raise KeyError("mine")


async def test_what_a_task_said_can_be_read_after_it_ended(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember([{"say": "hello"}])) as tree:
        root = await tree.spawn()
        task = await root.assign("hi")
        await task.wait()
        msgs = await collect(task.events())

        assert AgentMessageRecorded("hello") in msgs


async def test_an_agent_may_have_tools_of_its_own(tmp_path: Path) -> None:
    model = remember([{"call": "mine", "args": {}}], [{"say": "ok"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn(AgentSpec(tools=(tool("mine", say_hi),)))
        await (await root.assign("go")).wait()

    assert outputs(model, 1) == ["hi"]
    assert b'"mine"' in model.prompts[0].tools


async def test_an_agent_that_crashes_twice_at_a_task_has_failed_it(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"say": "before"}], [{"say": "after"}])
    broken: list[str] = []

    def sometimes(given: Settings) -> Toolbox:
        if broken:
            raise RuntimeError(broken.pop())
        return toolbox(given)

    services = AgentServices(model=model, toolbox=sometimes)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        await (await root.assign("one")).wait()
        await root.submit(OverrideSettings(Overrides(effort="high")))
        broken += ["boom", "bang"]
        failed = await (await root.assign("two")).wait()
        record = await (await root.assign("three")).wait()

    assert failed.outcome == TaskFailed("the agent crashed at it twice", "internal_server_error")
    assert record.outcome == TaskCompleted("after")
    said = [i.text for i in model.items(1) if isinstance(i, Message) and i.role != "developer"]
    assert [said[1], said[2], said[-1]] == ["one", "before", "three"]
    assert root.status.get() == "shutdown"


async def test_a_cancelled_agent_is_shut_down(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
            root = await tree.spawn()
            scope.cancel()
            await trio.lowlevel.checkpoint()

    assert root.status.get() == "shutdown"


async def test_a_call_that_cannot_be_read_is_dropped_and_said(tmp_path: Path) -> None:
    odd = {"type": "function_call", "name": "hi", "call_id": 0, "arguments": "{}"}
    event = {"type": "response.output_item.done", "item": odd}
    model = remember([{"event": event}, {"say": "ok"}], [{"say": "next"}])
    async with open_tree(tmp_path, model) as tree:
        root = await tree.spawn()
        task = await root.assign("go")
        msgs = await collect(task.events())
        await (await root.assign("again")).wait()

    assert "'function_call' that cannot be read" in str(msgs)
    assert b"call_id" not in b"".join(model.prompts[1].input)


async def test_a_handle_says_so_when_its_tree_has_ended(tmp_path: Path) -> None:
    async with open_tree(tmp_path, remember([{"say": "ok"}])) as tree:
        root = await tree.spawn()

    with pytest.raises(ActorTerminated, match="/root"):
        await root.assign("too late")
