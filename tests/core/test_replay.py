from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_actors.core._history import rollback
from codex_actors.core._replay import LEGACY_BYTES, Replayed, replay
from codex_actors.protocol import (
    Compacted,
    DangerFullAccess,
    EventLine,
    Item,
    Message,
    OtherItem,
    OutputText,
    RateLimits,
    Recorded,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    TurnStarted,
    UnknownEvent,
    UnknownLine,
    developer_message,
    user_message,
)
from codex_actors.wire import decode_line, encode_line

META = SessionMeta(
    id="t", session_id="t", timestamp="now", cwd="/w", originator="test", cli_version="0"
)


def line(payload: RolloutPayload) -> RolloutLine:
    return RolloutLine("2026-01-02T03:04:05.678Z", payload)


def context(turn: str) -> TurnContext:
    return TurnContext(
        turn_id=turn,
        cwd="/w",
        approval_policy="never",
        sandbox_policy=DangerFullAccess(),
        model=f"model of {turn}",
    )


def usage(tokens: int) -> TokenUsageInfo:
    return TokenUsageInfo(total_token_usage=TokenUsage(total_tokens=tokens))


def reply(text: str) -> Message:
    return Message(role="assistant", content=(OutputText(text),))


def rolled_back(turns: int) -> EventLine:
    return EventLine(UnknownEvent("thread_rolled_back", {"num_turns": turns}))


@attrs.frozen
class Lived:
    """A life as it is lived: every line, and what is true after it."""

    lines: tuple[RolloutLine, ...] = (line(META),)
    states: tuple[Replayed, ...] = (Replayed(meta=META),)

    def then(self, payload: RolloutPayload, **changes: Any) -> Lived:
        state = attrs.evolve(self.states[-1], **changes)
        return Lived((*self.lines, line(payload)), (*self.states, state))

    def says(self, item: Item) -> Lived:
        return self.then(Recorded(item), items=(*self.states[-1].items, item))


@st.composite
def lives(draw: st.DrawFn) -> Lived:
    """Threads of some turns, as an agent records them, each perhaps cut off or taken back."""
    lived = Lived()
    past: list[tuple[TurnContext | None, TurnContext | None]] = [(None, None)]
    floor = 1
    for number in range(draw(st.integers(1, 4))):
        lived = live_turn(draw, lived, f"turn{number}")
        past.append((lived.states[-1].turn_context, lived.states[-1].told))
        match draw(st.sampled_from(["go on", "go on", "compact", "roll back"])):
            case "compact":
                kept = (user_message("kept"), user_message("the summary"))
                compacted = Compacted(message="the summary", replacement_history=kept)
                lived = lived.then(compacted, items=kept, told=None)
                last = past[-1][0]
                past = [(last, None)]
                floor = 1
            case "roll back" if len(past) > floor:
                past.pop()
                items = rollback(lived.states[-1].items, 1)
                turn_context, told = past[-1]
                lived = lived.then(
                    rolled_back(1), items=items, turn_context=turn_context, told=told
                )
    return lived


def live_turn(draw: st.DrawFn, lived: Lived, turn: str) -> Lived:
    lived = lived.then(EventLine(TurnStarted(turn_id=turn)), unsettled_turn_id=turn)
    if draw(st.booleans()):
        lived = lived.says(developer_message("news"))
    settings = context(turn)
    lived = lived.then(settings, turn_context=settings, told=settings)
    lived = lived.says(user_message(f"do {turn}"))
    for index in range(draw(st.integers(0, 2))):
        call_id = f"{turn}c{index}"
        lived = lived.says(ToolCall(call_id=call_id, name="shell", arguments="{}"))
        if draw(st.booleans()):
            lived = lived.says(ToolOutput(call_id=call_id, output="done"))
    tokens = usage(draw(st.integers(0, 9)))
    lived = lived.then(EventLine(TokensCounted(tokens, None)), token_info=tokens)
    ends: list[RolloutPayload] = [
        EventLine(TurnCompleted(turn_id=turn, last_agent_message=None)),
        EventLine(TurnAborted(turn_id=turn, reason="interrupted")),
        EventLine(TurnAborted(turn_id=None, reason="replaced")),
    ]
    return lived.then(draw(st.sampled_from(ends)), unsettled_turn_id=None)


Replay = Callable[[Iterable[RolloutLine]], Replayed]


def check_replay(law: Replay, lived: Lived) -> None:
    for length, state in enumerate(lived.states, start=1):
        assert state == law(lived.lines[:length])


@given(lives())
def test_replaying_what_was_recorded_gives_what_was_lived_cut_at_any_line(lived: Lived) -> None:
    check_replay(replay, lived)


@given(lives())
def test_the_way_through_a_file_changes_nothing(lived: Lived) -> None:
    read = [decode_line(encode_line(line)) for line in lived.lines]

    assert lived.states[-1] == replay(read)


def without(kind: type[object]) -> Replay:
    def deaf(lines: Iterable[RolloutLine]) -> Replayed:
        return replay(line for line in lines if not isinstance(line.payload, kind))

    return deaf


def deaf_to_rollbacks(lines: Iterable[RolloutLine]) -> Replayed:
    return replay(line for line in lines if line.payload != rolled_back(1))


def settles_nothing(lines: Iterable[RolloutLine]) -> Replayed:
    return attrs.evolve(replay(lines), unsettled_turn_id=None)


@pytest.mark.parametrize(
    "bug",
    [
        *map(without, (Compacted, TurnContext, Recorded, EventLine)),
        deaf_to_rollbacks,
        settles_nothing,
    ],
)
def test_the_law_finds_planted_bugs(bug: Replay) -> None:
    @settings(database=None, derandomize=True)
    @given(lives())
    def law(lived: Lived) -> None:
        check_replay(bug, lived)

    with pytest.raises((AssertionError, ExceptionGroup)):
        law()


def test_nothing() -> None:
    assert Replayed() == replay([])


def test_a_compaction_without_its_result_keeps_what_users_said_last() -> None:
    long = user_message("x" * LEGACY_BYTES)
    spoken = [user_message("a"), long, reply("b"), user_message("c")]
    lines = [line(Recorded(item)) for item in spoken]

    history = replay([*lines, line(Compacted(message="so far"))]).items

    assert (user_message("c"), user_message("so far")) == history


def test_items_that_no_model_is_sent_are_passed_over() -> None:
    items: list[Item] = [
        OtherItem("ghost_snapshot", {}),
        Message(role="system", content=()),
        OtherItem("compaction", {"encrypted_content": "x"}),
    ]

    assert (items[2],) == replay(line(Recorded(item)) for item in items).items


def test_the_first_of_two_first_lines_counts() -> None:
    fork = attrs.evolve(META, id="fork", forked_from_id="t")

    assert fork == replay([line(fork), line(META)]).meta


def test_the_end_of_another_turn_settles_nothing() -> None:
    lines: list[RolloutPayload] = [
        EventLine(TurnStarted(turn_id="b")),
        EventLine(TurnCompleted(turn_id="a", last_agent_message=None)),
        UnknownLine("world_state", {}),
    ]

    assert Replayed(unsettled_turn_id="b") == replay(map(line, lines))


def test_usage_and_limits_are_the_last_that_were_known() -> None:
    limits = RateLimits(limit_id="x")
    lines = [
        EventLine(TokensCounted(usage(1), limits)),
        EventLine(TokensCounted(usage(2), None)),
        EventLine(TokensCounted(None, None)),
    ]

    assert Replayed(token_info=usage(2), rate_limits=limits) == replay(map(line, lines))
