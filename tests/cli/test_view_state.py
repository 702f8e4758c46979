from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._view_merge import merge
from codex_actors.cli._view_state import (
    TAIL_BYTES,
    Asked,
    Block,
    Header,
    Looked,
    Note,
    Patched,
    Planned,
    Ran,
    Running,
    Said,
    Stopped,
    Summary,
    Thought,
    View,
    finish,
    step,
)
from codex_actors.protocol import (
    AddFile,
    AgentMessageDelta,
    AgentMessageItem,
    CommandItem,
    CommandOutput,
    ErrorOccurred,
    EventMsg,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    OtherTurnItem,
    PlanStep,
    PlanUpdated,
    RateLimits,
    RateLimitWindow,
    ReadOnly,
    ReasoningDelta,
    ReasoningItem,
    ReasoningSectionBroke,
    SessionConfigured,
    StreamBroke,
    TextInput,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnItem,
    TurnStarted,
    UserMessageItem,
    WarningRaised,
)
from codex_actors.testing._strategies import events

CONFIGURED = SessionConfigured(
    session_id="s",
    thread_id="th",
    model="m",
    model_provider_id="p",
    approval_policy="never",
    sandbox_policy=ReadOnly(),
    cwd="/w",
)
COMMAND = CommandItem(id="c", command=("bash", "-lc", "make"), cwd="/w", status="in_progress")
PATCH = FileChangeItem(id="f", changes={"/w/a": AddFile("x\n")}, status="in_progress")
PLAN = (PlanStep(step="a", status="in_progress"),)


def started(item: TurnItem) -> ItemStarted:
    return ItemStarted(thread_id="th", turn_id="t", item=item, started_at_ms=1000)


def completed(item: TurnItem, since: int | None = None) -> ItemCompleted:
    return ItemCompleted(
        thread_id="th", turn_id="t", item=item, completed_at_ms=3500, started_at_ms=since
    )


def said(delta: str, item_id: str = "m") -> AgentMessageDelta:
    return AgentMessageDelta(thread_id="th", turn_id="t", item_id=item_id, delta=delta)


def thought(delta: str, index: int = 0) -> ReasoningDelta:
    return ReasoningDelta(
        thread_id="th", turn_id="t", item_id="r", delta=delta, summary_index=index
    )


def printed(chunk: bytes, call_id: str = "c") -> CommandOutput:
    return CommandOutput(call_id=call_id, chunk=chunk)


def play(*msgs: EventMsg, view: View | None = None) -> tuple[View, list[Block]]:
    """Play events, one a second."""
    view = View() if view is None else view
    blocks: list[Block] = []
    for now, msg in enumerate(msgs):
        view, more = step(view, msg, float(now))
        blocks += more
    return view, blocks


TURN = TurnStarted(turn_id="t", model_context_window=100_000)
COMPLETED = TurnCompleted(turn_id="t", last_agent_message=None, duration_ms=1500)
ABORTED = TurnAborted(turn_id="t", reason="interrupted")


@pytest.mark.parametrize(
    ("msgs", "view", "blocks"),
    [
        ((CONFIGURED,), View(cwd="/w"), [Header(CONFIGURED)]),
        ((TURN,), View(phase="turn", window=100_000), []),
        ((WarningRaised("odd"),), View(), [Note("warning", "odd")]),
        ((ErrorOccurred("full"),), View(), [Note("error", "full")]),
        (
            (TURN, StreamBroke("Reconnecting... 2/5", None, "cut")),
            View(phase="turn", window=100_000, since=1.0, retry="Reconnecting... 2/5"),
            [Note("warning", "Reconnecting... 2/5 (cut)")],
        ),
        (
            (StreamBroke("again 2/5"), WarningRaised("odd")),
            View(retry="again 2/5"),
            [Note("warning", "again 2/5"), Note("warning", "odd")],
        ),
        ((StreamBroke("again 2/5"), said("a")), View(saying="a"), [Note("warning", "again 2/5")]),
        ((said("a"), StreamBroke("b")), View(since=1.0, retry="b"), [Note("warning", "b")]),
        ((said("a\n\nb"), said("c")), View(said="a\n\n", saying="bc"), [Said("a\n\n")]),
        ((thought("a"), thought("b")), View(thought="ab"), []),
        (
            (thought("a"), ReasoningSectionBroke("r", 1), thought("b", 1)),
            View(thought="a\n\nb"),
            [],
        ),
        ((ReasoningSectionBroke("r", 0), thought("a")), View(thought="a"), []),
        (
            (thought("a"), completed(ReasoningItem(id="r", summary_text=("a", "b")))),
            View(since=1.0),
            [Thought("a\n\nb")],
        ),
        ((completed(ReasoningItem(id="r")),), View(), []),
        (
            (completed(UserMessageItem(id="u", content=(TextInput("a"), TextInput("b")))),),
            View(),
            [Asked("a\nb")],
        ),
        ((completed(ImageViewItem(id="i", path="/a.png")),), View(), [Looked("/a.png")]),
        ((completed(OtherTurnItem("x", {})),), View(), []),
        ((started(COMMAND),), View(running=(Running(COMMAND, 0.0),)), []),
        (
            (started(COMMAND), printed(b"a"), printed(b"b"), printed(b"x", "other")),
            View(running=(Running(COMMAND, 0.0, b"ab"),)),
            [],
        ),
        (
            (started(PATCH), started(COMMAND), completed(COMMAND)),
            View(running=(Running(PATCH, 0.0),), since=2.0),
            [Ran(COMMAND)],
        ),
        (
            (CONFIGURED, started(PATCH), completed(PATCH, 1000)),
            View(cwd="/w", since=2.0),
            [Header(CONFIGURED), Patched(PATCH, "/w", 2.5)],
        ),
        ((PlanUpdated(plan=PLAN),), View(plan=PLAN), []),
        (
            (PlanUpdated(plan=PLAN), said("a"), COMPLETED),
            View(phase="ending"),
            [Said("a"), Planned(PLAN), Summary(TokenUsage(), 1500)],
        ),
        ((TURN, said("a"), ABORTED), View(phase="ending", window=100_000), [
            Said("a"), Note("interrupted", "user"), Summary(TokenUsage(), None),
        ]),
    ],
)  # fmt: skip
def test_steps(msgs: Iterable[EventMsg], view: View, blocks: list[Block]) -> None:
    assert (view, blocks) == play(*msgs)


def test_usage_and_limits_are_those_last_known() -> None:
    limits = RateLimits(primary=RateLimitWindow(used_percent=90))
    info = TokenUsageInfo(
        total_token_usage=TokenUsage(input_tokens=7),
        last_token_usage=TokenUsage(total_tokens=5),
        model_context_window=9,
    )

    view, _ = play(TURN, TokensCounted(info, limits), TokensCounted(None, None))

    assert (TokenUsage(input_tokens=7), 5, 9, limits) == (
        view.usage,
        view.context,
        view.window,
        view.limits,
    )


def test_of_a_long_output_the_end_is_kept() -> None:
    view, _ = play(started(COMMAND), printed(b"a" * TAIL_BYTES), printed(b"b"))

    assert b"a" * (TAIL_BYTES - 1) + b"b" == view.running[0].tail


def test_what_is_left_at_the_end_is_told() -> None:
    view, _ = play(started(COMMAND), started(PATCH), said("a"), PlanUpdated(plan=PLAN))

    assert (Said("a"), Planned(PLAN), Stopped(COMMAND, 9.0)) == finish(view, 9.0)


def test_a_text_that_ended_otherwise_than_it_was_streamed_is_shown_whole() -> None:
    view, blocks = play(said("a\n\nb"), completed(AgentMessageItem(id="m", text="c")))

    assert (View(since=1.0), [Said("a\n\n"), Said("c")]) == (view, blocks)


# --- laws ---

MESSAGES = st.lists(
    st.sampled_from(["a", "\n", "\n\n", "```", "- b", "1. c", "  d", "> e", "`", "**f**"])
).map("".join)


def streamed(text: str, cuts: list[int]) -> list[EventMsg]:
    places = sorted({0, len(text), *(c % (len(text) + 1) for c in cuts)})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    return [*map(said, pieces), completed(AgentMessageItem(id="m", text=text))]


def shown_text(blocks: Iterable[Block]) -> str:
    return "".join(b.text for b in blocks if isinstance(b, Said))


def shows_all_once(text: str, cuts: list[int], player: Callable[..., Any] = play) -> bool:
    view, blocks = player(*streamed(text, cuts))
    shown = shown_text(blocks)
    return (view.said, view.saying) == ("", "") and (
        shown == text or (text.startswith(shown) and not text[len(shown) :].strip())
    )


@given(MESSAGES, st.lists(st.integers(0, 100), max_size=5))
def test_a_message_is_shown_whole_and_once_however_it_comes(text: str, cuts: list[int]) -> None:
    assert shows_all_once(text, cuts)


def forgetful(*msgs: EventMsg) -> tuple[View, list[Block]]:
    """A wrong player: it forgets what of a message was shown already."""
    view = View()
    blocks: list[Block] = []
    for msg in msgs:
        view, more = step(attrs.evolve(view, said=""), msg, 0.0)
        blocks += more
    return view, blocks


def test_the_law_finds_a_player_that_shows_twice() -> None:
    assert not shows_all_once("a\n\nb", [3], forgetful)


@given(st.lists(events()), st.floats(0, 1e9))
def test_any_events_in_any_order_are_shown(msgs: list[EventMsg], now: float) -> None:
    view, _ = play(*msgs)
    finish(view, now)


PIECES = st.lists(
    st.one_of(
        st.builds(said, st.text(max_size=3), st.sampled_from("ab")),
        st.builds(thought, st.text(max_size=3), st.integers(0, 1)),
        st.builds(printed, st.binary(max_size=3), st.sampled_from("cd")),
        st.just(TURN),
    )
)


@given(PIECES)
def test_merged_pieces_say_the_same(msgs: list[EventMsg]) -> None:
    merged = list(merge(msgs))
    start = View(running=(Running(COMMAND, 0.0),))

    def tail_of(told: list[EventMsg]) -> tuple[str, str, View]:
        view = start
        blocks: list[Block] = []
        for msg in told:
            view, more = step(view, msg, 0.0)
            blocks += more
        return (
            shown_text(blocks) + view.saying,
            view.thought,
            attrs.evolve(view, said="", saying=""),
        )

    assert tail_of(msgs) == tail_of(merged)
    kinds = [(type(m), getattr(m, "item_id", ""), getattr(m, "call_id", "")) for m in merged]
    assert len(merged) <= len(msgs)
    assert [TURN] * kinds.count((TurnStarted, "", "")) == [m for m in msgs if m is TURN]
