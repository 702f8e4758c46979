from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors import protocol as p
from codex_actors.testing import _strategies as some
from codex_actors.wire import (
    WireError,
    decode_event,
    decode_op,
    decode_outcome,
    decode_status,
    decode_submission,
    decode_task,
    encode_event,
    encode_json,
    encode_op,
    encode_outcome,
    encode_status,
    encode_submission,
    encode_task,
)


def through_json(value: Any) -> Any:
    return json.loads(encode_json(value))


@given(some.events())
def test_events_come_back(event: p.EventMsg) -> None:
    assert event == decode_event(through_json(encode_event(event)))


@given(some.ops())
def test_ops_come_back(op: p.Op) -> None:
    assert op == decode_op(through_json(encode_op(op)))


@given(some.submissions())
def test_submissions_come_back(submission: p.Submission) -> None:
    assert submission == decode_submission(through_json(encode_submission(submission)))


@given(some.statuses())
def test_statuses_come_back(status: p.AgentStatus) -> None:
    assert status == decode_status(through_json(encode_status(status)))


@given(some.outcomes())
def test_outcomes_come_back(outcome: p.TaskOutcome) -> None:
    assert outcome == decode_outcome(through_json(encode_outcome(outcome)))


@given(some.task_records())
def test_tasks_come_back(record: p.TaskRecord) -> None:
    assert record == decode_task(through_json(encode_task(record)))


def test_what_a_task_does_not_have_is_not_written() -> None:
    record = p.TaskRecord(
        id=p.TaskId("t"), thread_id=p.ThreadId("a"), path=p.ROOT, text="go", assigned_at="now"
    )
    plain = {"id": "t", "thread_id": "a", "path": "/root", "text": "go", "assigned_at": "now"}
    given = attrs.evolve(record, assigned_by=p.ROOT.child("lead"), reply_to=p.ThreadId("b"))

    assert plain == encode_task(record)
    assert {**plain, "assigned_by": "/root/lead", "reply_to": "b"} == encode_task(given)
    assert record == decode_task(plain)


@given(some.unknown_tags(), some.unknown_fields())
def test_unknown_tags_survive(tag: str, fields: dict[str, Any]) -> None:
    spelled = {"type": tag, **fields}

    assert (spelled, spelled) == (
        encode_event(decode_event(spelled)),
        encode_op(decode_op(spelled)),
    )


TAGS = ["task_started", "token_count", "item_completed", "exec_command_end", "error", "user_turn"]
KEYS = ["turn_id", "info", "item", "message", "items", "duration", "codex_error_info", "changes"]


@given(st.sampled_from(TAGS), st.dictionaries(st.sampled_from(KEYS), some.json_values()))
def test_decoding_events_and_ops_never_refuses(tag: str, fields: dict[str, Any]) -> None:
    spelled = {"type": tag, **fields}
    event, op = decode_event(spelled), decode_op(spelled)

    assert isinstance(event, p.UnknownEvent) <= (encode_event(event) == spelled)
    assert isinstance(op, p.UnknownOp) <= (encode_op(op) == spelled)


@given(some.events(), some.unknown_fields())
def test_unknown_keys_of_known_events_are_passed_over(
    event: p.EventMsg, unknown: dict[str, Any]
) -> None:
    if not isinstance(event, p.UnknownEvent):
        assert event == decode_event({**encode_event(event), **unknown})


@pytest.mark.parametrize(
    ("spelled", "event"),
    [
        (
            {"type": "turn_started", "turn_id": "t", "model_context_window": None},
            p.TurnStarted(turn_id="t"),
        ),
        (
            {"type": "turn_complete", "turn_id": "t", "last_agent_message": None},
            p.TurnCompleted(turn_id="t", last_agent_message=None),
        ),
        (
            {"type": "stream_error", "message": "m", "codex_error_info": "server_overloaded"},
            p.StreamBroke("m", p.ErrorInfo(kind="server_overloaded")),
        ),
        (
            {
                "type": "item_completed",
                "thread_id": "a",
                "turn_id": "t",
                "item": {
                    "type": "CommandExecution",
                    "id": "c",
                    "command": ["ls"],
                    "cwd": "file:///a%20b",
                    "parsed_cmd": [],
                    "source": "agent",
                    "status": "completed",
                    "duration": {"secs": 1, "nanos": 500_000_000},
                },
                "completed_at_ms": 1,
            },
            p.ItemCompleted(
                thread_id="a",
                turn_id="t",
                item=p.CommandItem(
                    id="c",
                    command=("ls",),
                    cwd="/a b",
                    status="completed",
                    source="agent",
                    duration=1.5,
                ),
                completed_at_ms=1,
            ),
        ),
        (
            {
                "type": "thread_settings_applied",
                "thread_id": "a",
                "thread_settings": {
                    "model": "m",
                    "model_provider_id": "p",
                    "approval_policy": {"granular": {"sandbox_approval": True, "rules": False}},
                    "permission_profile": {"type": "external", "network": "enabled"},
                    "cwd": "/w",
                    "reasoning_effort": "high",
                },
            },
            p.SettingsApplied(
                thread_id="a",
                model="m",
                model_provider_id="p",
                approval_policy=p.Granular(sandbox_approval=True, rules=False),
                sandbox_policy=p.ExternalSandbox(network_access="enabled"),
                cwd="/w",
                effort="high",
            ),
        ),
    ],
)
def test_spellings_that_are_read(spelled: dict[str, Any], event: p.EventMsg) -> None:
    assert event == decode_event(spelled)


PATH = "/a b/\u00fc%20?#.png"


@pytest.mark.parametrize(
    "event",
    [
        p.ImageViewed("c", PATH),
        p.ItemStarted(
            thread_id="a", turn_id="t", item=p.ImageViewItem(id="c", path=PATH), started_at_ms=1
        ),
        p.CommandBegan(call_id="c", turn_id="t", command=(), cwd=PATH),
    ],
)
def test_paths_come_back_from_their_urls(event: p.EventMsg) -> None:
    assert b'"file:///a%20b/%C3%BC%2520%3F%23.png"' in encode_json(encode_event(event))
    assert event == decode_event(through_json(encode_event(event)))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "exec_command_output_delta", "call_id": "c", "chunk": "?"},
        {"type": "exec_command_output_delta", "call_id": "c", "chunk": 3},
        {"type": "error", "message": "m", "codex_error_info": [1]},
        {"type": "exec_command_end", "duration": 3},
    ],
)
def test_events_that_do_not_fit_are_kept(fields: dict[str, Any]) -> None:
    assert fields == encode_event(decode_event(fields))


def test_settings_say_what_older_readers_and_the_reference_read() -> None:
    spelled = encode_op(
        p.UserTurn(
            items=(p.TextInput("hi"),),
            overrides=p.Overrides(approval_policy="never", sandbox_policy=p.ReadOnly()),
        )
    )

    expected = {
        "type": "user_input_with_turn_context",
        "items": [{"type": "text", "text": "hi", "text_elements": []}],
        "approval_policy": "never",
        "sandbox_policy": {"type": "read-only"},
    }
    assert expected == spelled


def test_commands_have_the_references_duration() -> None:
    ended = p.CommandEnded(
        call_id="c",
        turn_id="t",
        command=("bash", "-lc", "ls"),
        cwd="/w",
        aggregated_output="a\n",
        exit_code=0,
        duration=0.25,
        status="completed",
    )

    spelled = encode_event(ended)

    assert (
        spelled["duration"],
        spelled["parsed_cmd"],
    ) == ({"secs": 0, "nanos": 250_000_000}, [{"type": "unknown", "cmd": "ls"}])


@pytest.mark.parametrize("value", [None, "zz", {}, {"completed": 3}, 7])
def test_what_is_no_status_is_refused(value: Any) -> None:
    with pytest.raises(WireError):
        decode_status(value)


@pytest.mark.parametrize("fields", [{}, {"type": "zz"}, {"type": "timed_out", "seconds": "x"}])
def test_what_is_no_outcome_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        decode_outcome(fields)


def test_a_submission_without_an_operation_is_refused() -> None:
    with pytest.raises(WireError):
        decode_submission({"id": "s"})
