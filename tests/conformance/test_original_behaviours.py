"""What users of the original program rely on, and find here again.

Where ours differs on purpose, the test says so. Some of the original's behaviours have no place
here: its tool that runs one command up to a time limit, and then reports that it was cut off,
does not exist (a command has no limit, and becomes a session that can be looked at); and taking
turns back is not an operation of a running agent yet, so nothing can forbid it during a turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from codex_actors.agents import AgentSpec, open_agents
from codex_actors.core import replay, rollback
from codex_actors.protocol import (
    ApprovalPolicy,
    Compacted,
    DangerFullAccess,
    ErrorOccurred,
    EventLine,
    Granular,
    Item,
    Message,
    OutputText,
    RawItemRecorded,
    Recorded,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnContext,
    UnknownEvent,
    developer_message,
    user_message,
)
from codex_actors.tools import ToolContext, answer
from codex_actors.wire import encode_line
from tests.agents.support import (
    KNOWN,
    Remembering,
    collect,
    names,
    open_tree,
    remember,
    settings,
    tool,
)

STAMP = "2026-01-02T12:04:05.678Z"
THREAD = "01a1fe6b-207a-7340-a6cf-abef11635601"


def outputs(model: Remembering, number: int) -> list[str]:
    return [item.text for item in model.items(number) if isinstance(item, ToolOutput)]


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Message)]


class TestAborting:
    """An interrupted turn is told of once, as interrupted, and by nothing else."""

    async def deaf(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        with trio.CancelScope(shield=True):
            await trio.sleep(3)
        return answer(call, "what, already?")

    async def obliging(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            raise
        raise AssertionError("unreachable")

    @pytest.mark.parametrize(
        "step",
        [{"sleep": 1000}, {"call": "deaf", "args": {}}, {"call": "obliging", "args": {}}],
        ids=["in the model's silence", "in a tool that goes on", "in a tool that cleans up"],
    )
    async def test_nothing_follows_the_interruption(
        self, tmp_path: Path, autojump_clock: trio.testing.MockClock, step: dict[str, Any]
    ) -> None:
        """Whether what runs heeds the interruption or not, the turn's one last event says it:
        no error, no completion, and no message that comes late."""
        tools = (tool("deaf", self.deaf), tool("obliging", self.obliging))
        async with open_tree(tmp_path, remember([step], [{"say": "late"}])) as tree:
            root = await tree.spawn(AgentSpec(tools=tools))
            task = await root.assign("go")
            await trio.sleep(1)
            await root.interrupt()
            await trio.sleep(60)
            msgs = await collect(task.events())

        # What the response used that was there is counted just before the last event.
        used = [m for m in msgs if isinstance(m, TokensCounted)]
        assert len(used) == ("call" in step)
        assert all(m is msgs[-2] for m in used)
        shown = [m for m in msgs if not isinstance(m, RawItemRecorded | TokensCounted)]
        assert names(shown) == [
            "TurnStarted",
            "ItemStarted",
            "ItemCompleted",
            "UserMessageRecorded",
            "TurnAborted",
        ]
        assert isinstance(msgs[-1], TurnAborted)
        assert msgs[-1].reason == "interrupted"
        assert (await task.wait()).outcome == TaskInterrupted("user")

    async def test_the_model_is_told_and_every_call_has_its_output(
        self, tmp_path: Path, autojump_clock: trio.testing.MockClock
    ) -> None:
        """The next request says that the user interrupted, and leaves no call unanswered."""
        model = remember([{"call": "obliging", "args": {}}], [{"say": "sorry"}])
        async with open_tree(tmp_path, model) as tree:
            root = await tree.spawn(AgentSpec(tools=(tool("obliging", self.obliging),)))
            await root.assign("go")
            await trio.sleep(1)
            await root.interrupt()
            await (await root.assign("go on")).wait()
        call, output, marker, said = model.items(1)[-4:]

        assert isinstance(call, ToolCall)
        assert isinstance(output, ToolOutput)
        assert (call.call_id, output.text) == (output.call_id, "aborted by user after 2.0s")
        assert isinstance(marker, Message)
        assert marker.text.startswith("<turn_aborted>")
        assert said == user_message("go on")


class TestToolFailures:
    """What a tool cannot do is told the model; what is broken in a tool ends the turn."""

    async def test_a_broken_tool_stops_the_turn_and_is_reported(self, tmp_path: Path) -> None:
        """The model is not asked again; people see an error, and the task has failed."""
        model = remember([{"call": "broken", "args": {}}], [{"say": "never said"}])
        async with open_tree(tmp_path, model) as tree:
            root = await tree.spawn()
            task = await root.assign("go")
            record = await task.wait()
            msgs = await collect(task.events())

        assert isinstance(record.outcome, TaskFailed)
        (error,) = (msg for msg in msgs if isinstance(msg, ErrorOccurred))
        assert "boom" in error.message
        assert len(model.prompts) == 1

    async def test_a_call_of_the_wrong_kind_is_the_models_mistake(self, tmp_path: Path) -> None:
        """Free text for a tool that takes JSON ends the original's turn. Here the model reads
        what was wrong, and may do better."""
        model = remember([{"custom": "hi", "input": "{}"}], [{"say": "I see"}])
        async with open_tree(tmp_path, model) as tree:
            root = await tree.spawn()
            record = await (await root.assign("go")).wait()

        assert record.outcome == TaskCompleted("I see")
        assert outputs(model, 1) == ["hi takes a function call, not a custom call"]

    @pytest.mark.parametrize("tty", [False, True])
    @pytest.mark.parametrize(
        "policy",
        ["never", Granular(sandbox_approval=False, rules=False)],
        ids=["never", "granular"],
    )
    async def test_more_rights_are_refused_where_nobody_is_asked_and_the_rest_runs(
        self, tmp_path: Path, policy: ApprovalPolicy, tty: bool
    ) -> None:
        """A command that asks to leave the sandbox is not run when the approval policy does not
        let the model ask; the same command without that wish is. The refusal names the policy.
        The original has two tools for commands, and here one does both."""
        wish = {
            "sandbox_permissions": "require_escalated",
            "justification": "May I?",
        }
        plain = {"cmd": "echo hi >> ran; cat ran", "tty": tty, "login": False}
        model = remember(
            [{"call": "exec_command", "args": plain | wish}],
            [{"call": "exec_command", "args": plain | {"sandbox_permissions": "use_default"}}],
            [{"say": "done"}],
        )
        given = settings(
            tmp_path,
            cwd=str(tmp_path),
            approval_policy=policy,
            environment={"PATH": "/usr/bin:/bin"},
        )
        async with open_agents(given, model=model) as tree:
            root = await tree.spawn()
            record = await (await root.assign("go")).wait()
        (refusal,), (_, result) = outputs(model, 1), outputs(model, 2)

        assert record.outcome == TaskCompleted("done")
        named = "Never" if policy == "never" else "GranularApprovalConfig { sandbox_approval: false"
        assert named in refusal
        assert "escalated permissions" in refusal
        assert "Process exited with code 0" in result
        assert result.splitlines()[-1] == "hi"

    async def test_a_command_that_takes_long_becomes_a_session(self, tmp_path: Path) -> None:
        """Where the original says that time was up, and what came until then, this says that the
        command still runs, and what came until then. Nothing is lost of it."""
        arguments = {"cmd": "echo early; sleep 1000", "yield_time_ms": 250, "login": False}
        model = remember([{"call": "exec_command", "args": arguments}], [{"say": "done"}])
        given = settings(tmp_path, cwd=str(tmp_path), environment={"PATH": "/usr/bin:/bin"})
        async with open_agents(given, model=model) as tree:
            root = await tree.spawn()
            await (await root.assign("go")).wait()
        (output,) = outputs(model, 1)

        assert "Process running with session ID" in output
        assert "timed out" not in output


META = SessionMeta(
    id=THREAD, session_id=THREAD, timestamp=STAMP, cwd="/tmp", originator="test", cli_version="0"
)
CONTEXT: tuple[Item, ...] = (
    developer_message("the rules"),
    user_message("<environment_context>here</environment_context>"),
)


def said(text: str) -> Message:
    return Message(role="assistant", content=(OutputText(text),))


def line(payload: RolloutPayload) -> RolloutLine:
    return RolloutLine(STAMP, payload)


def recorded(*items: Item) -> list[RolloutLine]:
    return [line(Recorded(item)) for item in items]


def rolled_back(turns: int) -> RolloutLine:
    return line(EventLine(UnknownEvent("thread_rolled_back", {"num_turns": turns})))


TURNS = [(user_message(f"ask {n}"), said(f"answer {n}")) for n in (1, 2, 3)]
SAMPLE = [
    line(META),
    *recorded(*CONTEXT, *TURNS[0]),
    line(Compacted(message="the story so far")),
    *recorded(*TURNS[1]),
    line(Compacted(message="the story further on")),
    *recorded(*TURNS[2]),
]
"""A thread that was compacted twice, by a version that did not write down what was left."""
LEFT: tuple[Item, ...] = (
    user_message("ask 1"),
    user_message("the story so far"),
    user_message("ask 2"),
    user_message("the story further on"),
    *TURNS[2],
)


def write(home: Path, lines: list[RolloutLine]) -> None:
    folder = home / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-01-02T12-04-05-{THREAD}.jsonl"
    path.write_bytes(b"".join(encode_line(line) for line in lines))


class TestInitialHistory:
    """An agent that goes on with a thread knows what it knew."""

    def test_a_history_that_was_compacted_is_built_anew(self) -> None:
        """Each compaction leaves what users said and its summary, whether it says so or not."""
        telling = [
            *SAMPLE[:5],
            line(Compacted(message="the story so far", replacement_history=LEFT[:2])),
            *SAMPLE[6:8],
            line(Compacted(message="the story further on", replacement_history=LEFT[:4])),
            *SAMPLE[9:],
        ]

        assert replay(SAMPLE).items == LEFT
        assert replay(telling).items == LEFT

    async def test_a_resumed_thread_is_told_its_history_and_its_surroundings(
        self, tmp_path: Path
    ) -> None:
        """The first request holds what the rollout leaves, then the surroundings, which the
        compaction took away, then the new message."""
        write(tmp_path, SAMPLE)
        model = remember([{"say": "welcome back"}])
        async with open_tree(tmp_path, model, ephemeral=False) as tree:
            root = await tree.spawn(AgentSpec(resume=THREAD))
            await (await root.assign("hello")).wait()
        items = model.items(0)

        assert tuple(items[: len(LEFT)]) == LEFT
        rules, surroundings, hello = items[len(LEFT) :]
        assert isinstance(rules, Message)
        assert rules.role == "developer"
        assert isinstance(surroundings, Message)
        assert "<cwd>/tmp</cwd>" in surroundings.text
        assert hello == user_message("hello")

    async def test_surroundings_are_not_told_twice(self, tmp_path: Path) -> None:
        """The original repeats them whenever a thread is resumed. Here they are repeated only
        if they have changed, so that the provider's cache of the prompt stays good."""
        model = remember([{"say": "1"}], [{"say": "2"}], [{"say": "3"}])
        async with open_tree(tmp_path, model, ephemeral=False) as tree:
            root = await tree.spawn()
            thread = root.thread_id
            await (await root.assign("one")).wait()
        for text, cwd in (("two", "/tmp"), ("three", "/")):
            async with open_tree(tmp_path, model, ephemeral=False, cwd=cwd) as tree:
                root = await tree.spawn(AgentSpec(resume=thread))
                await (await root.assign(text)).wait()

        first, second, third = (texts(model.items(number)) for number in range(3))
        assert second == [*first, "1", "two"]
        *before, moved, three = third
        assert (before, three) == ([*second, "2"], "three")
        assert "<cwd>/</cwd>" in moved

    async def test_usage_goes_on_from_what_was_counted_last(self, tmp_path: Path) -> None:
        """The last count that says something is the one that holds. The window is that of the
        model in use now, which may be another."""
        first = TokenUsageInfo(
            total_token_usage=TokenUsage(input_tokens=10, output_tokens=20, total_tokens=30),
            last_token_usage=TokenUsage(input_tokens=3, output_tokens=4, total_tokens=7),
            model_context_window=100,
        )
        last = TokenUsageInfo(
            total_token_usage=TokenUsage(
                input_tokens=100,
                cached_input_tokens=50,
                output_tokens=200,
                reasoning_output_tokens=25,
                total_tokens=375,
            ),
            last_token_usage=TokenUsage(input_tokens=10, output_tokens=20, total_tokens=35),
            model_context_window=200,
        )
        counts = [TokensCounted(info, None) for info in (first, None, last, None)]
        write(tmp_path, [*SAMPLE, *(line(EventLine(count)) for count in counts)])
        async with open_tree(tmp_path, remember(), ephemeral=False) as tree:
            root = await tree.spawn(AgentSpec(resume=THREAD))
            usage = root.usage

        assert usage == attrs.evolve(last, model_context_window=KNOWN.usable_context_window)

    def test_a_fork_knows_what_its_source_knew(self) -> None:
        """A fork begins with a line of its own, and the lines of its source follow."""
        fork = attrs.evolve(META, id="fork", forked_from_id=THREAD)
        replayed = replay([line(fork), *SAMPLE])

        assert (fork, LEFT) == (replayed.meta, replayed.items)


class TestRollback:
    """Turns can be taken back, and what was there before all turns never is."""

    def test_the_last_turn_goes(self) -> None:
        history = (*CONTEXT, *TURNS[0], *TURNS[1])

        assert rollback(history, 1) == (*CONTEXT, *TURNS[0])

    def test_more_turns_than_there_are_means_all(self) -> None:
        assert rollback((*CONTEXT, *TURNS[0]), 99) == CONTEXT

    def test_no_turns_is_nothing(self) -> None:
        """The original calls it an error; the rule itself takes back what it is told to."""
        history = (*CONTEXT, *TURNS[0])

        assert rollback(history, 0) == history

    @pytest.mark.parametrize(
        ("turns", "left"),
        [(0, (*CONTEXT, *TURNS[0], *TURNS[1])), (1, (*CONTEXT, *TURNS[0])), (99, CONTEXT)],
    )
    async def test_a_thread_that_the_original_rolled_back_goes_on_from_there(
        self, tmp_path: Path, turns: int, left: tuple[Item, ...]
    ) -> None:
        """Its rollout still holds the turns, and then says how many of them do not count."""
        told = TurnContext(
            cwd="/tmp",
            approval_policy="never",
            sandbox_policy=DangerFullAccess(),
            model=KNOWN.slug,
        )
        lines = [line(META), line(told), *recorded(*CONTEXT, *TURNS[0], *TURNS[1])]
        write(tmp_path, [*lines, rolled_back(turns)])
        model = remember([{"say": "ok"}])
        async with open_tree(tmp_path, model, ephemeral=False, approval_policy="never") as tree:
            root = await tree.spawn(AgentSpec(resume=THREAD))
            await (await root.assign("another way")).wait()

        assert model.items(0) == [*left, user_message("another way")]
