from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, get_args

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from codex_actors.core._shown import flat_events, is_kept, shown_as
from codex_actors.protocol import (
    AddFile,
    AgentActivityItem,
    AgentMessageItem,
    AgentMessageRecorded,
    CollabAgentItem,
    CollabCloseBegan,
    CollabCloseEnded,
    CollabInputBegan,
    CollabInputEnded,
    CollabResumeBegan,
    CollabResumeEnded,
    CollabSpawnBegan,
    CollabSpawnEnded,
    CollabWaitBegan,
    CollabWaitEnded,
    CommandBegan,
    CommandEnded,
    CommandItem,
    EventMsg,
    FileChangeItem,
    ImageInput,
    ImageViewed,
    ImageViewItem,
    InputText,
    Item,
    ItemCompleted,
    ItemProgress,
    ItemStarted,
    LocalImageInput,
    Message,
    OtherInput,
    OtherItem,
    OtherTurnItem,
    OutputText,
    PatchBegan,
    PatchEnded,
    RawReasoningRecorded,
    Reasoning,
    ReasoningItem,
    ReasoningRecorded,
    TextInput,
    ToolCall,
    ToolOutput,
    TurnItem,
    UserMessageItem,
    UserMessageRecorded,
)
from codex_actors.testing._strategies import events, turn_items

COMMAND = CommandItem(
    id="c1",
    command=("bash", "-lc", "make"),
    cwd="/w",
    status="completed",
    source="agent",
    process_id="7",
    aggregated_output="ok\n",
    exit_code=0,
    duration=1.5,
)
PATCH = FileChangeItem(
    id="c2",
    changes={"/w/a": AddFile("x\n")},
    status="completed",
    auto_approved=True,
    stdout="done",
    stderr="hm",
)
BEGAN = CommandBegan(
    call_id="c1",
    turn_id="t",
    command=("bash", "-lc", "make"),
    cwd="/w",
    source="agent",
    process_id="7",
    started_at_ms=5,
)
ENDED = CommandEnded(
    call_id="c1",
    turn_id="t",
    command=("bash", "-lc", "make"),
    cwd="/w",
    aggregated_output="ok\n",
    exit_code=0,
    duration=1.5,
    status="completed",
    source="agent",
    process_id="7",
    completed_at_ms=9,
)
PATCH_BEGAN = PatchBegan(
    call_id="c2", turn_id="t", auto_approved=True, changes={"/w/a": AddFile("x\n")}
)
PATCH_ENDED = PatchEnded(
    call_id="c2",
    turn_id="t",
    stdout="done",
    stderr="hm",
    success=True,
    changes={"/w/a": AddFile("x\n")},
    status="completed",
)
SAID = UserMessageItem(
    id="u",
    content=(
        TextInput("look "),
        ImageInput("https://x/y.png"),
        LocalImageInput("/w/z.png"),
        OtherInput("audio", {"url": "q"}),
        TextInput("here"),
    ),
)
SEEN = UserMessageRecorded(
    message="look here", images=("https://x/y.png",), local_images=("/w/z.png",)
)
THOUGHT = ReasoningItem(id="r", summary_text=("one", "two"), raw_content=("raw", "rawer"))


def started(item: TurnItem) -> ItemStarted:
    return ItemStarted(thread_id="th", turn_id="t", item=item, started_at_ms=5)


def completed(item: TurnItem) -> ItemCompleted:
    return ItemCompleted(thread_id="th", turn_id="t", item=item, completed_at_ms=9)


@pytest.mark.parametrize(
    ("item", "at_start", "at_end"),
    [
        (SAID, (), (SEEN,)),
        (
            AgentMessageItem(id="m", text="hm", phase="commentary"),
            (),
            (AgentMessageRecorded("hm", "commentary"),),
        ),
        (THOUGHT, (), (ReasoningRecorded("one"), ReasoningRecorded("two"))),
        (COMMAND, (BEGAN,), (ENDED,)),
        (PATCH, (PATCH_BEGAN,), (PATCH_ENDED,)),
        (ImageViewItem(id="c3", path="/w/z.png"), (), (ImageViewed("c3", "/w/z.png"),)),
        (OtherTurnItem("Plan", {"id": "p"}), (), ()),
    ],
)
def test_flat_events(
    item: TurnItem, at_start: tuple[EventMsg, ...], at_end: tuple[EventMsg, ...]
) -> None:
    assert at_start == flat_events(started(item))
    assert at_end == flat_events(completed(item))


def test_raw_reasoning_comes_when_it_is_asked_for() -> None:
    assert flat_events(completed(THOUGHT), raw_reasoning=True) == (
        ReasoningRecorded("one"),
        ReasoningRecorded("two"),
        RawReasoningRecorded("raw"),
        RawReasoningRecorded("rawer"),
    )


@pytest.mark.parametrize(
    ("progress", "status"),
    [
        ("completed", "completed"),
        ("failed", "failed"),
        ("declined", "declined"),
        ("in_progress", "failed"),
    ],
)
def test_what_ended_says_how(progress: ItemProgress, status: Any) -> None:
    command = attrs.evolve(COMMAND, status=progress)
    patch = attrs.evolve(PATCH, status=progress)

    assert flat_events(completed(command)) == (attrs.evolve(ENDED, status=status),)
    assert flat_events(completed(patch)) == (
        attrs.evolve(PATCH_ENDED, status=status, success=status == "completed"),
    )


def test_what_is_not_known_of_an_item() -> None:
    """The flat events have no place for "unknown"."""
    command = CommandItem(id="c1", command=("true",), cwd="/w", status="failed")
    patch = FileChangeItem(id="c2", changes={}, status="failed")

    assert flat_events(completed(command)) == (
        CommandEnded(
            call_id="c1",
            turn_id="t",
            command=("true",),
            cwd="/w",
            aggregated_output="",
            exit_code=-1,
            duration=0.0,
            status="failed",
            completed_at_ms=9,
        ),
    )
    assert flat_events(started(patch)) == (
        PatchBegan(call_id="c2", turn_id="t", auto_approved=False, changes={}),
    )
    assert flat_events(completed(patch)) == (
        PatchEnded(
            call_id="c2",
            turn_id="t",
            stdout="",
            stderr="",
            success=False,
            changes={},
            status="failed",
        ),
    )


@given(events())
def test_only_item_events_have_a_flat_form_and_it_has_none(event: EventMsg) -> None:
    flat = flat_events(event, raw_reasoning=True)

    assert not flat or isinstance(event, ItemStarted | ItemCompleted)
    assert [()] * len(flat) == list(map(flat_events, flat))


Flat = Callable[[EventMsg], tuple[EventMsg, ...]]
TOLD = (
    "call_id",
    "sender_thread_id",
    "receiver_thread_id",
    "turn_id",
    "command",
    "cwd",
    "source",
    "process_id",
    "changes",
)


def check_pair(flat: Flat, item: TurnItem) -> None:
    """What starts flat ends flat, and end and start tell the same of what they share."""
    first, last = flat(started(item)), flat(completed(item))
    assert [type(e) for e in first] == [BEGAN_AS[type(e)] for e in last if type(e) in BEGAN_AS]
    for before, after in zip(first, last, strict=False):
        for name in set(TOLD) & {f.name for f in attrs.fields(type(before))}:
            assert getattr(before, name) == getattr(after, name)
    if isinstance(item, CommandItem | FileChangeItem) and item.status != "in_progress":
        assert [item.status] == [getattr(e, "status", None) for e in last]


BEGAN_AS: dict[type[Any], type[Any]] = {
    CommandEnded: CommandBegan,
    PatchEnded: PatchBegan,
    CollabSpawnEnded: CollabSpawnBegan,
    CollabInputEnded: CollabInputBegan,
    CollabWaitEnded: CollabWaitBegan,
    CollabCloseEnded: CollabCloseBegan,
    CollabResumeEnded: CollabResumeBegan,
}


@given(turn_items())
def test_what_starts_flat_ends_flat(item: TurnItem) -> None:
    check_pair(flat_events, item)


def never_starts(event: EventMsg) -> tuple[EventMsg, ...]:
    return () if isinstance(event, ItemStarted) else flat_events(event)


def forgets_the_process(event: EventMsg) -> tuple[EventMsg, ...]:
    return tuple(
        attrs.evolve(e, process_id=None) if isinstance(e, CommandEnded) else e
        for e in flat_events(event)
    )


def takes_no_for_a_failure(event: EventMsg) -> tuple[EventMsg, ...]:
    return tuple(
        attrs.evolve(e, status="failed")
        if isinstance(e, CommandEnded | PatchEnded) and e.status == "declined"
        else e
        for e in flat_events(event)
    )


@pytest.mark.parametrize("bug", [never_starts, forgets_the_process, takes_no_for_a_failure])
def test_planted_bugs_are_found(bug: Flat) -> None:
    def is_caught(item: TurnItem) -> bool:
        try:
            check_pair(bug, item)
        except AssertionError:
            return True
        return False

    search = settings(
        max_examples=3000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    find(turn_items(), is_caught, settings=search)


# What the reference keeps in a rollout (history mode legacy), of the events that we have.
KEPT = {
    "AgentMessageRecorded",
    "PatchEnded",
    "RawReasoningRecorded",
    "ReasoningRecorded",
    "SettingsApplied",
    "TokensCounted",
    "TurnAborted",
    "TurnCompleted",
    "TurnStarted",
    "UserMessageRecorded",
}


@given(events())
def test_kept_events(event: EventMsg) -> None:
    # What agents do with each other is kept as the reference keeps it: as items.
    between = isinstance(event, ItemCompleted) and isinstance(
        event.item, AgentActivityItem | CollabAgentItem
    )
    assert (between or type(event).__name__ in KEPT) == is_kept(event)


def test_kept_events_are_events() -> None:
    assert isinstance(EventMsg, types.UnionType)
    assert {kind.__name__ for kind in get_args(EventMsg)} >= KEPT


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (
            Message(role="assistant", content=(OutputText("a"), OutputText("b")), phase="p"),
            AgentMessageItem(id="ours", text="ab", phase="p"),
        ),
        (
            Message(role="assistant", content=(OutputText("a"),), id="theirs"),
            AgentMessageItem(id="theirs", text="a"),
        ),
        (
            Reasoning(summary=("s",), content=("c",)),
            ReasoningItem(id="ours", summary_text=("s",), raw_content=("c",)),
        ),
        (Reasoning(id="theirs"), ReasoningItem(id="theirs")),
        (Message(role="user", content=(InputText("a"),)), None),
        (Message(role="developer", content=(InputText("a"),)), None),
        (ToolCall(call_id="c", name="n", arguments=""), None),
        (ToolOutput(call_id="c", output=""), None),
        (OtherItem("web_search_call", {}), None),
    ],
)
def test_shown_as(item: Item, shown: TurnItem | None) -> None:
    assert shown == shown_as(item, "ours")
