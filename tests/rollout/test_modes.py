"""The same turn, as both history modes have it, is the same to whoever resumes it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_actors.core import replay
from codex_actors.protocol import (
    CommandItem,
    DangerFullAccess,
    EventLine,
    ItemCompleted,
    Message,
    OutputText,
    SettingsApplied,
    ToolCall,
    ToolOutput,
    TurnContext,
    UnknownLine,
    user_message,
)
from codex_actors.wire import decode_line

META: dict[str, Any] = {
    "session_id": "t",
    "id": "t",
    "timestamp": "2026-01-02T12:04:05.678Z",
    "cwd": "/w",
    "runtime_workspace_roots": ["/w"],
    "originator": "codex_exec",
    "cli_version": "0.163.0",
    "source": "exec",
    "thread_source": "user",
    "model_provider": "mock",
    "base_instructions": {"text": "Be good.", "provenance": {"type": "model", "model": "m"}},
    "context_window": {"window_id": "w"},
}
SETTINGS: dict[str, Any] = {
    "type": "thread_settings_applied",
    "thread_id": "t",
    "thread_settings": {
        "model": "m",
        "model_provider_id": "mock",
        "approval_policy": "never",
        "approvals_reviewer": "user",
        "permission_profile": {"type": "disabled"},
        "cwd": "/w",
        "runtime_workspace_roots": ["/w"],
        "collaboration_mode": {"mode": "default", "settings": {"model": "m"}},
        "disabled_plugin_ids": [],
    },
}
CONTEXT: dict[str, Any] = {
    "turn_id": "u",
    "cwd": "/w",
    "approval_policy": "never",
    "approvals_reviewer": "user",
    "sandbox_policy": {"type": "danger-full-access"},
    "permission_profile": {"type": "disabled"},
    "model": "m",
    "realtime_active": False,
    "summary": "none",
}
PASSED: dict[str, Any] = {"internal_chat_message_metadata_passthrough": {"turn_id": "u"}}
ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}", **PASSED},
    {"type": "function_call_output", "call_id": "c", "output": "hi"},
    {
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "done", "annotations": []}],
    },
]
COMMAND: dict[str, Any] = {
    "type": "CommandExecution",
    "id": "c",
    "process_id": "7",
    "command": ["bash", "-lc", "echo hi"],
    "cwd": "file:///w",
    "parsed_cmd": [{"type": "unknown", "cmd": "echo hi"}],
    "source": "unified_exec_startup",
    "status": "completed",
    "aggregated_output": "hi\n",
    "exit_code": 0,
    "duration": {"secs": 0, "nanos": 250_000_000},
}


def event(tag: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": tag, **fields}


def whole(item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    ids = {"thread_id": "t", "turn_id": "u"}
    return event("item_completed", **ids, item=item, started_at_ms=1, completed_at_ms=2)


LEGACY = [
    ("session_meta", {**META, "history_mode": "legacy"}),
    event("task_started", turn_id="u", started_at=1, collaboration_mode_kind="default"),
    ("turn_context", CONTEXT),
    ("event_msg", SETTINGS),
    ("response_item", ITEMS[0]),
    event("user_message", message="go", images=[], local_images=[], text_elements=[]),
    ("response_item", ITEMS[1]),
    ("response_item", ITEMS[2]),
    event("agent_message", message="done", phase=None, memory_citation=None),
    ("response_item", ITEMS[3]),
    event("task_complete", turn_id="u", last_agent_message="done"),
]
PAGINATED = [
    ("session_meta", {**META, "history_mode": "paginated"}),
    event("task_started", turn_id="u", root_turn_id="u", started_at=1),
    ("world_state", {"full": True, "state": {}}),
    ("turn_context", CONTEXT),
    ("event_msg", SETTINGS),
    ("response_item", ITEMS[0]),
    whole({"type": "UserMessage", "id": "m", "content": [{"type": "text", "text": "go"}]}),
    ("response_item", ITEMS[1]),
    ("token_usage_record", {"thread_id": "t"}),
    whole(COMMAND),
    ("response_item", ITEMS[2]),
    whole({"type": "AgentMessage", "id": "a", "content": [{"type": "Text", "text": "done"}]}),
    ("response_item", ITEMS[3]),
    event("task_complete", turn_id="u", root_turn_id="u", last_agent_message="done"),
]


def written(number: int, tag: str, payload: dict[str, Any]) -> bytes:
    head = {"timestamp": "2026-01-02T12:04:05.678Z", "ordinal": number}
    return json.dumps({**head, "type": tag, "payload": payload}).encode()


@pytest.mark.parametrize("mode", [LEGACY, PAGINATED], ids=["legacy", "paginated"])
def test_both_modes_say_the_same(mode: list[tuple[str, dict[str, Any]]]) -> None:
    lines = [decode_line(written(number, *line)) for number, line in enumerate(mode)]
    state = replay(lines)

    call = ToolCall(call_id="c", name="exec_command", arguments="{}", extra=PASSED)
    answer = Message(
        role="assistant",
        content=(OutputText("done", {"annotations": []}),),
        extra={"status": "completed"},
    )
    assert (user_message("go"), call, ToolOutput(call_id="c", output="hi"), answer) == state.items
    settings = SettingsApplied(
        thread_id="t",
        model="m",
        model_provider_id="mock",
        approval_policy="never",
        sandbox_policy=DangerFullAccess(),
        cwd="/w",
    )
    extra = {k: v for k, v in CONTEXT.items() if k in ("approvals_reviewer", "realtime_active")}
    context = TurnContext(
        turn_id="u",
        cwd="/w",
        approval_policy="never",
        sandbox_policy=DangerFullAccess(),
        model="m",
        summary="none",
        extra=extra,
    )
    assert (settings, context, context, None) == (
        state.settings,
        state.turn_context,
        state.told,
        state.unsettled_turn_id,
    )
    assert state.meta is not None
    assert ("t", "Be good.") == (state.meta.id, state.meta.base_instructions)


def test_nothing_of_the_paginated_mode_is_lost() -> None:
    lines = [decode_line(written(number, *line)) for number, line in enumerate(PAGINATED)]
    commands = [
        line.payload.msg.item
        for line in lines
        if isinstance(line.payload, EventLine)
        and isinstance(line.payload.msg, ItemCompleted)
        and isinstance(line.payload.msg.item, CommandItem)
    ]
    unknown = [line.payload.type for line in lines if isinstance(line.payload, UnknownLine)]

    command = CommandItem(
        id="c",
        command=("bash", "-lc", "echo hi"),
        cwd="/w",
        status="completed",
        process_id="7",
        aggregated_output="hi\n",
        exit_code=0,
        duration=0.25,
    )
    assert ([command], ["world_state", "token_usage_record"]) == (commands, unknown)
    assert list(range(len(PAGINATED))) == [line.ordinal for line in lines]
