"""Golden lines: what programs written for Codex read of each event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._thread_events import Line, ThreadEvents, kind_of
from codex_actors.protocol import (
    AddFile,
    AgentMessageItem,
    CommandItem,
    DeleteFile,
    ErrorOccurred,
    EventMsg,
    FileChange,
    FileChangeItem,
    ImageViewItem,
    ItemCompleted,
    ItemStarted,
    OtherTurnItem,
    PlanStep,
    PlanUpdated,
    ReadOnly,
    ReasoningItem,
    SessionConfigured,
    StreamBroke,
    TextInput,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnDiffed,
    TurnItem,
    TurnStarted,
    UpdateFile,
    UserMessageItem,
    WarningRaised,
)
from codex_actors.testing._strategies import events

READY = SessionConfigured(
    session_id="s",
    thread_id="th",
    model="m",
    model_provider_id="p",
    approval_policy="never",
    sandbox_policy=ReadOnly(),
    cwd="/w",
)
DONE = TurnCompleted(turn_id="t", last_agent_message="ok")
BROKEN = TurnCompleted(turn_id="t", last_agent_message=None, error=ErrorOccurred("full"))
ABORTED = TurnAborted(turn_id="t", reason="interrupted")
NO_USAGE = {
    "type": "turn.completed",
    "usage": {
        "input_tokens": 0,
        "cached_input_tokens": 0,
        "cache_write_input_tokens": 0,
        "output_tokens": 0,
        "reasoning_output_tokens": 0,
    },
}


def started(item: TurnItem) -> ItemStarted:
    return ItemStarted(thread_id="th", turn_id="t", item=item, started_at_ms=1)


def completed(item: TurnItem) -> ItemCompleted:
    return ItemCompleted(thread_id="th", turn_id="t", item=item, completed_at_ms=2)


def command(item_id: str, **fields: Any) -> CommandItem:
    words = ("/bin/bash", "-lc", "echo hi")
    return CommandItem(**{"id": item_id, "command": words, "cwd": "/w", **fields})


def plan(*steps: str) -> PlanUpdated:
    """Steps as ``x done`` and ``- not yet``."""
    return PlanUpdated(
        plan=tuple(
            PlanStep(step=s[2:], status="completed" if s[0] == "x" else "pending") for s in steps
        )
    )


def lines(*msgs: EventMsg) -> list[Line]:
    thread = ThreadEvents()
    return [line for msg in msgs for line in thread.lines(msg)]


def test_a_turn_with_a_command() -> None:
    """Every line as the reference wrote it for the same turn."""
    begun = command("call_1", status="in_progress")
    ended = command("call_1", status="completed", aggregated_output="hi\n", exit_code=0)
    first = TokenUsage(input_tokens=100, cached_input_tokens=20, output_tokens=10)
    usage = TokenUsageInfo(total_token_usage=first + first, last_token_usage=first)

    assert lines(
        READY,
        WarningRaised("Model metadata for `mock-model` not found."),
        TurnStarted(turn_id="t"),
        completed(UserMessageItem(id="u", content=(TextInput("go"),))),
        started(ReasoningItem(id="rs_1")),
        completed(ReasoningItem(id="rs_1", summary_text=("thinking",))),
        started(begun),
        completed(ended),
        TokensCounted(TokenUsageInfo(total_token_usage=first), None),
        started(AgentMessageItem(id="msg_1", text="")),
        completed(AgentMessageItem(id="msg_1", text="all done")),
        TokensCounted(usage, None),
        TokensCounted(None, None),
        DONE,
    ) == [
        {"type": "thread.started", "thread_id": "th"},
        {
            "type": "item.completed",
            "item": {
                "id": "item_0",
                "type": "error",
                "message": "Model metadata for `mock-model` not found.",
            },
        },
        {"type": "turn.started"},
        {
            "type": "item.completed",
            "item": {"id": "item_1", "type": "reasoning", "text": "thinking"},
        },
        {
            "type": "item.started",
            "item": {
                "id": "item_2",
                "type": "command_execution",
                "command": "/bin/bash -lc 'echo hi'",
                "aggregated_output": "",
                "exit_code": None,
                "status": "in_progress",
            },
        },
        {
            "type": "item.completed",
            "item": {
                "id": "item_2",
                "type": "command_execution",
                "command": "/bin/bash -lc 'echo hi'",
                "aggregated_output": "hi\n",
                "exit_code": 0,
                "status": "completed",
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "item_3", "type": "agent_message", "text": "all done"},
        },
        {
            "type": "turn.completed",
            "usage": {
                "input_tokens": 200,
                "cached_input_tokens": 40,
                "cache_write_input_tokens": 0,
                "output_tokens": 20,
                "reasoning_output_tokens": 0,
            },
        },
    ]


def test_a_turn_with_a_patch() -> None:
    changes: dict[str, FileChange] = {
        "/w/b.txt": AddFile("x\n"),
        "/w/a.txt": UpdateFile("@@\n-a\n+b\n"),
        "/w/c.txt": DeleteFile("old\n"),
    }
    told = [
        {"path": "/w/a.txt", "kind": "update"},
        {"path": "/w/b.txt", "kind": "add"},
        {"path": "/w/c.txt", "kind": "delete"},
    ]

    assert lines(
        started(FileChangeItem(id="c", changes=changes, status="in_progress")),
        completed(FileChangeItem(id="c", changes=changes, status="completed")),
    ) == [
        {
            "type": "item.started",
            "item": {
                "id": "item_0",
                "type": "file_change",
                "changes": told,
                "status": "in_progress",
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "item_0", "type": "file_change", "changes": told, "status": "completed"},
        },
    ]


@pytest.mark.parametrize(
    ("msg", "expected"),
    [
        (TurnStarted(turn_id="t"), [{"type": "turn.started"}]),
        (DONE, [NO_USAGE]),
        (BROKEN, [{"type": "turn.failed", "error": {"message": "full"}}]),
        (ABORTED, []),
        (ErrorOccurred("full"), [{"type": "error", "message": "full"}]),
        (
            StreamBroke("Reconnecting... 1/2", None, "the stream ended"),
            [{"type": "error", "message": "Reconnecting... 1/2 (the stream ended)"}],
        ),
        (StreamBroke("Reconnecting... 1/2"), [{"type": "error", "message": "Reconnecting... 1/2"}]),
        (TurnDiffed("--- a"), []),
        (started(AgentMessageItem(id="m", text="")), []),
        (started(OtherTurnItem("Plan", {"id": "p"})), []),
        (completed(OtherTurnItem("Plan", {"id": "p"})), []),
        (completed(UserMessageItem(id="u", content=())), []),
        (completed(ImageViewItem(id="i", path="/w/a.png")), []),
        (completed(ReasoningItem(id="r")), []),
        (completed(ReasoningItem(id="r", summary_text=("", "  "))), []),
    ],
)
def test_lines(msg: EventMsg, expected: list[Line]) -> None:
    assert expected == lines(msg)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (
            ReasoningItem(id="r", summary_text=("one", "two")),
            {"type": "reasoning", "text": "one\ntwo"},
        ),
        (
            ReasoningItem(id="r", summary_text=(" x\n", "")),
            {"type": "reasoning", "text": " x\n\n"},
        ),
        (AgentMessageItem(id="m", text=""), {"type": "agent_message", "text": ""}),
        (
            command("c", status="failed", aggregated_output="no\n", exit_code=3),
            {
                "type": "command_execution",
                "command": "/bin/bash -lc 'echo hi'",
                "aggregated_output": "no\n",
                "exit_code": 3,
                "status": "failed",
            },
        ),
        (
            command("c", status="declined"),
            {
                "type": "command_execution",
                "command": "/bin/bash -lc 'echo hi'",
                "aggregated_output": "",
                "exit_code": None,
                "status": "declined",
            },
        ),
        (
            FileChangeItem(id="c", changes={}, status="failed"),
            {"type": "file_change", "changes": [], "status": "failed"},
        ),
        (
            FileChangeItem(id="c", changes={}, status="declined"),
            {"type": "file_change", "changes": [], "status": "failed"},
        ),
    ],
)
def test_completed_items(item: TurnItem, shown: Line) -> None:
    assert lines(completed(item)) == [{"type": "item.completed", "item": {"id": "item_0", **shown}}]


def test_commands_that_overlap_keep_their_ids() -> None:
    told = lines(
        started(command("a", status="in_progress")),
        started(command("b", status="in_progress")),
        completed(AgentMessageItem(id="m", text="meanwhile")),
        completed(command("b", status="completed")),
        completed(command("a", status="completed")),
    )

    assert ["item_0", "item_1", "item_2", "item_1", "item_0"] == [x["item"]["id"] for x in told]


def test_a_call_id_that_comes_again_names_another_item() -> None:
    """Some providers name the calls of every response alike."""
    told = lines(
        *(started(command("a", status="in_progress")), completed(command("a", status="completed")))
        * 2
    )

    assert ["item_0", "item_0", "item_1", "item_1"] == [x["item"]["id"] for x in told]


def test_a_command_that_runs_on_is_not_completed() -> None:
    told = lines(started(command("a", status="in_progress")), DONE)

    assert ["item.started", "turn.completed"] == [x["type"] for x in told]


def todo(kind: str, item_id: str, *steps: str) -> Line:
    items = [{"text": s[2:], "completed": s[0] == "x"} for s in steps]
    return {"type": kind, "item": {"id": item_id, "type": "todo_list", "items": items}}


@pytest.mark.parametrize(
    ("end", "last"),
    [
        (DONE, [NO_USAGE]),
        (BROKEN, [{"type": "turn.failed", "error": {"message": "full"}}]),
        (ABORTED, []),
    ],
)
def test_a_todo_list_lives_as_long_as_the_turn(end: EventMsg, last: list[Line]) -> None:
    assert lines(
        plan("- a", "- b"),
        completed(AgentMessageItem(id="m", text="ok")),
        plan("x a", "- b"),
        plan("x a", "x b"),
        end,
        plan("- c"),
    ) == [
        todo("item.started", "item_0", "- a", "- b"),
        {
            "type": "item.completed",
            "item": {"id": "item_1", "type": "agent_message", "text": "ok"},
        },
        todo("item.updated", "item_0", "x a", "- b"),
        todo("item.updated", "item_0", "x a", "x b"),
        todo("item.completed", "item_0", "x a", "x b"),
        *last,
        todo("item.started", "item_2", "- c"),
    ]


@pytest.mark.parametrize(
    ("change", "kind"),
    [(AddFile(""), "add"), (DeleteFile(""), "delete"), (UpdateFile("", "/w/b"), "update")],
)
def test_kind_of(change: FileChange, kind: str) -> None:
    assert kind == kind_of(change)


def item_lines(told: list[Line]) -> list[tuple[str, Line]]:
    return [(line["type"], line["item"]) for line in told if "item" in line]


@given(st.lists(events(), max_size=15))
def test_item_ids_count_up_and_what_is_completed_never_comes_again(msgs: list[EventMsg]) -> None:
    told = item_lines(lines(*msgs))
    seen: list[str] = []
    over: set[str] = set()
    for kind, item in told:
        assert item["id"] not in over
        if item["id"] not in seen:
            assert f"item_{len(seen)}" == item["id"]
            seen.append(item["id"])
        if kind == "item.completed":
            over.add(item["id"])


@given(st.lists(events(), max_size=10))
def test_the_type_of_an_item_never_changes(msgs: list[EventMsg]) -> None:
    kinds: dict[str, str] = {}
    for _, item in item_lines(lines(*msgs)):
        assert kinds.setdefault(item["id"], item["type"]) == item["type"]
