from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import attrs
import pytest
from hypothesis import given

from codex_actors.protocol import (
    Compacted,
    EventLine,
    GitInfo,
    Message,
    OutputText,
    Recorded,
    RolloutLine,
    SessionMeta,
    UnknownEvent,
    UnknownLine,
    user_message,
)
from codex_actors.testing import _strategies as some
from codex_actors.wire import BadRolloutLine, decode_line, encode_line

NOW = "2026-01-02T03:04:05.678Z"


@given(some.rollout_lines())
def test_lines_come_back(line: RolloutLine) -> None:
    data = encode_line(line)

    assert line == decode_line(data)
    assert (data.count(b"\n"), data[-1:]) == (1, b"\n")


@given(some.rollout_lines())
def test_a_decoded_line_is_written_as_it_was(line: RolloutLine) -> None:
    data = encode_line(line)

    assert json.loads(data) == json.loads(encode_line(decode_line(data)))


def test_encoded_items_are_not_encoded_again() -> None:
    line = RolloutLine(NOW, Recorded(user_message("a"), b'{"type": "message"}'))

    expected = (
        b'{"timestamp":"2026-01-02T03:04:05.678Z","type":"response_item",'
        b'"payload":{"type": "message"}}\n'
    )
    assert expected == encode_line(line)


def test_an_item_laid_out_over_lines_becomes_one_line() -> None:
    line = RolloutLine(NOW, Recorded(user_message("a"), b'{\r\n "type": "zz"}\n'))

    expected = (
        b'{"timestamp":"2026-01-02T03:04:05.678Z","type":"response_item","payload":{"type":"zz"}}\n'
    )
    assert expected == encode_line(line)


META = SessionMeta(
    id="t",
    session_id="t",
    timestamp=NOW,
    cwd="/w",
    originator="codex_actors",
    cli_version="1",
    model_provider="mock",
    base_instructions="be good",
    git=GitInfo(branch="main"),
    extra={"zz": 1},
)


def test_the_first_line() -> None:
    expected = {
        "timestamp": NOW,
        "type": "session_meta",
        "payload": {
            "id": "t",
            "session_id": "t",
            "timestamp": NOW,
            "cwd": "/w",
            "originator": "codex_actors",
            "cli_version": "1",
            "source": "exec",
            "model_provider": "mock",
            "base_instructions": {"text": "be good"},
            "history_mode": "legacy",
            "git": {"branch": "main"},
            "zz": 1,
        },
    }

    assert expected == json.loads(encode_line(RolloutLine(NOW, META)))


def test_an_old_first_line_is_completed() -> None:
    old = {"timestamp": NOW, "type": "session_meta", "payload": {"id": "t", "cwd": "/w"}}

    expected = SessionMeta(
        id="t", session_id="t", timestamp="", cwd="/w", originator="", cli_version=""
    )
    assert RolloutLine(NOW, expected) == decode_line(json.dumps(old).encode())


@pytest.mark.parametrize(
    ("tag", "payload"),
    [
        ("session_meta", {"cwd": "/w"}),
        ("session_meta", {"id": "t", "history_mode": "zz"}),
        ("turn_context", {"cwd": 3}),
        ("compacted", {}),
        ("response_item", ["a"]),
        ("event_msg", None),
    ],
)
def test_known_kinds_in_unknown_shapes_are_kept(tag: str, payload: Any) -> None:
    spelled = {"timestamp": NOW, "type": tag, "payload": payload}

    line = decode_line(json.dumps(spelled).encode())

    assert (UnknownLine(tag, payload), spelled) == (line.payload, json.loads(encode_line(line)))


def test_siblings_of_the_payload_are_kept() -> None:
    data = b'{"timestamp":"x","ordinal":3,"type":"event_msg","payload":{"type":"zz"},"more":[1]}\n'

    expected = RolloutLine(
        timestamp="x",
        payload=EventLine(UnknownEvent("zz", {})),
        ordinal=3,
        extra={"more": [1]},
    )
    assert (expected, data) == (decode_line(data), encode_line(expected))


def test_a_compaction_carries_items() -> None:
    said = Message(role="assistant", content=(OutputText("a"),))
    line = RolloutLine(NOW, Compacted(message="so far", replacement_history=(said,)))

    assert line == decode_line(encode_line(line))
    assert attrs.evolve(line, payload=Compacted(message="so far")) != decode_line(encode_line(line))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"3", b'{"type":"x"}', b'{"timestamp":1,"type":"x"}', b"\xff"]
)
def test_what_is_no_line_is_refused(data: bytes) -> None:
    with pytest.raises(BadRolloutLine):
        decode_line(data)


@pytest.mark.parametrize("depth", range(900, 1000))
def test_what_is_nested_too_deeply_is_read_or_refused(depth: int) -> None:
    """Whether it is depends on how deep the caller's stack is."""
    deep = b"[" * depth + b"]" * depth
    for tag in (b"event_msg", b"session_meta", b"response_item"):
        data = b'{"timestamp":"","type":"%b","payload":{"type":"message","id":%b}}'
        with suppress(BadRolloutLine):
            decode_line(data % (tag, deep))


@pytest.mark.parametrize("digits", [b"9" * 400, b"-" + b"9" * 400, b"9" * 4000], ids=len)
def test_numbers_that_nothing_can_count_are_not_read(digits: bytes) -> None:
    times = b'{"type":"turn_complete","turn_id":"t","last_agent_message":null,"duration_ms":%b}'
    limits = b'{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":%b}}}'
    for event in (times, limits):
        data = b'{"timestamp":"","type":"event_msg","payload":%b}' % (event % digits)
        payload = decode_line(data).payload
        assert isinstance(payload, EventLine)
        assert isinstance(payload.msg, UnknownEvent)
