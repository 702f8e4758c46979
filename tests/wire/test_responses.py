from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.models import Prompt
from codex_actors.protocol import (
    ItemAdded,
    ItemDone,
    Message,
    OtherItem,
    OutputText,
    ReasoningContentDelta,
    ReasoningSummaryDelta,
    ReasoningSummaryPartAdded,
    TextDelta,
    TokenUsage,
    ToolInputDelta,
)
from codex_actors.protocol._payloads import Payload, ResponseSeen, UnreadableEnd
from codex_actors.wire._responses import decode_payload, encode_request

MESSAGE = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "hi"}],
}


def decode(kind: str, *, name: str | None = None, **fields: Any) -> Payload | None:
    data = json.dumps({"type": kind, **fields}).encode()
    return decode_payload((kind if name is None else name).encode(), data)


class TestRequest:
    def test_the_smallest(self) -> None:
        body = json.loads(encode_request(Prompt(model="m", input=())))

        assert body == {
            "model": "m",
            "stream": True,
            "input": [],
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def test_the_largest(self) -> None:
        prompt = Prompt(
            model="m\u2028",
            input=[b'{"type":"message","id":"msg_1"}', b'{"type":"reasoning"}'],
            instructions='say "hi"',
            tools=b'[{"type":"function"}]',
            parallel_tool_calls=False,
            effort="ultra",
            summary="auto",
            verbosity="low",
            service_tier="priority",
            output_schema={"type": "object"},
            session_id="s",
            metadata=b'{"thread_id":"t"}',
        )
        body = json.loads(encode_request(prompt))

        assert list(body.items()) == [
            ("model", "m\u2028"),
            ("instructions", 'say "hi"'),
            ("stream", True),
            ("input", [{"type": "message", "id": "msg_1"}, {"type": "reasoning"}]),
            ("tools", [{"type": "function"}]),
            ("tool_choice", "auto"),
            ("parallel_tool_calls", False),
            ("reasoning", {"effort": "max", "summary": "auto"}),
            ("store", False),
            ("include", ["reasoning.encrypted_content"]),
            ("service_tier", "priority"),
            ("prompt_cache_key", "s"),
            (
                "text",
                {
                    "verbosity": "low",
                    "format": {
                        "type": "json_schema",
                        "strict": True,
                        "schema": {"type": "object"},
                        "name": "codex_output_schema",
                    },
                },
            ),
            ("client_metadata", {"thread_id": "t"}),
        ]

    def test_no_summary_is_not_asked_for(self) -> None:
        body = json.loads(encode_request(Prompt(model="m", input=(), summary="none", effort="low")))

        assert body["reasoning"] == {"effort": "low"}

    def test_history_goes_out_as_it_was_encoded(self) -> None:
        odd = b'{ "type" : "message",  "n": 1.0e0 }'

        assert odd in encode_request(Prompt(model="m", input=[odd]))


class TestPayloads:
    @pytest.mark.parametrize(
        ("kind", "fields", "payload"),
        [
            ("response.output_text.delta", {"item_id": "i", "delta": "d"}, TextDelta("d", "i")),
            ("response.output_text.delta", {"delta": "d"}, TextDelta("d")),
            (
                "response.custom_tool_call_input.delta",
                {"delta": "d", "call_id": "c"},
                ToolInputDelta("d", "", "c"),
            ),
            (
                "response.reasoning_summary_text.delta",
                {"delta": "d", "summary_index": 2},
                ReasoningSummaryDelta("d", 2),
            ),
            (
                "response.reasoning_summary_part.added",
                {"summary_index": 1},
                ReasoningSummaryPartAdded(1),
            ),
            (
                "response.reasoning_text.delta",
                {"delta": "d", "content_index": 0},
                ReasoningContentDelta("d", 0),
            ),
            (
                "response.output_item.added",
                {"item": {"type": "new"}},
                ItemAdded(OtherItem("new", {})),
            ),
            (
                "response.created",
                {"response": {"id": "r"}},
                ResponseSeen(phase="created", response_id="r"),
            ),
            ("response.created", {}, ResponseSeen(phase="created")),
            ("response.completed", {"response": None}, ResponseSeen(phase="completed")),
            (
                "response.failed",
                {"response": {"error": {"code": "c", "message": 5}}},
                ResponseSeen(phase="failed", error_code="c"),
            ),
            (
                "response.incomplete",
                {"response": {"incomplete_details": {"reason": "why"}}},
                ResponseSeen(phase="incomplete", incomplete_reason="why"),
            ),
            (
                "response.metadata",
                {"headers": {"OpenAI-Model": "m"}},
                ResponseSeen(phase="going", server_model="m"),
            ),
            ("response.output_text.done", {"text": "x"}, None),
            ("response.function_call_arguments.delta", {"delta": "x"}, None),
            ("response.output_text.delta", {}, None),
            ("response.output_item.done", {"item": None}, None),
            ("response.output_item.done", {}, None),
        ],
    )
    def test_kinds(self, kind: str, fields: dict[str, Any], payload: Payload | None) -> None:
        assert decode(kind, **fields) == payload

    def test_an_item_keeps_its_bytes(self) -> None:
        encoded = json.dumps(MESSAGE).encode()
        data = b'{"type":"response.output_item.done","item":%s}' % encoded
        payload = decode_payload(b"response.output_item.done", data)

        message = Message(role="assistant", content=(OutputText("hi"),), id="msg_1")
        assert payload == ItemDone(message)
        assert isinstance(payload, ItemDone)
        assert payload.encoded == encoded

    def test_usage(self) -> None:
        usage = {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 7,
        }
        expected = TokenUsage(
            input_tokens=5,
            cached_input_tokens=3,
            cache_write_input_tokens=1,
            output_tokens=2,
            reasoning_output_tokens=1,
            total_tokens=7,
        )

        assert decode("response.completed", response={"id": "r", "usage": usage}) == ResponseSeen(
            phase="completed", response_id="r", usage=expected
        )

    def test_usage_without_details(self) -> None:
        usage = {"input_tokens": 5, "input_tokens_details": None, "total_tokens": 5}

        assert decode("response.completed", response={"usage": usage}) == ResponseSeen(
            phase="completed", usage=TokenUsage(input_tokens=5, total_tokens=5)
        )

    @pytest.mark.parametrize("name", ["", "message", "response.failed", "response.completed"])
    def test_what_the_data_calls_itself_counts(self, name: str) -> None:
        assert decode("response.output_text.delta", name=name, delta="d") == TextDelta("d")

    def test_a_name_stands_in_for_a_missing_type(self) -> None:
        assert decode_payload(b"response.output_text.delta", b'{"delta":"d"}') == TextDelta("d")

    def test_the_type_may_come_last(self) -> None:
        data = b'{"delta":"d","type":"response.output_text.delta"}'

        assert decode_payload(b"", data) == TextDelta("d")

    def test_an_unreadable_completion_is_no_silence(self) -> None:
        payload = decode("response.completed", response={"id": 5})

        assert isinstance(payload, UnreadableEnd)


class TestWhatServersGetWrong:
    def test_a_line_separator_is_text(self) -> None:
        data = '{"type":"response.output_text.delta","delta":"a\u2028b"}'.encode()

        assert decode_payload(b"response.output_text.delta", data) == TextDelta("a\u2028b")

    def test_invalid_utf8_costs_a_letter(self) -> None:
        data = b'{"type":"response.output_text.delta","delta":"a\xffb"}'

        assert decode_payload(b"response.output_text.delta", data) == TextDelta("a\ufffdb")

    def test_half_a_surrogate_pair_costs_a_letter(self) -> None:
        data = json.dumps({"type": "response.output_item.done", "item": MESSAGE}).encode()
        payload = decode_payload(b"", data.replace(b'"hi"', b'"h\\ud83d"'))

        assert isinstance(payload, ItemDone)
        assert isinstance(payload.item, Message)
        assert payload.item.text == "h?"
        assert payload.encoded is not None
        payload.encoded.decode()

    def test_null_is_absent(self) -> None:
        assert decode("response.output_text.delta", delta="d", item_id=None) == TextDelta("d")

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b"[DONE]", b"1" * 5000])
    @pytest.mark.parametrize("name", [b"", b"message", b"response.output_item.done"])
    def test_no_json_is_nothing(self, name: bytes, data: bytes) -> None:
        assert decode_payload(name, data) is None

    def test_bottomless_json_is_nothing(self) -> None:
        data = b'{"item":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

        assert decode_payload(b"response.output_item.done", data) is None

    @given(
        name=st.sampled_from(
            [
                "response.completed",
                "response.output_item.done",
                "response.created",
                "response.x",
                "",
            ]
        ),
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(
                    st.sampled_from(
                        ["type", "item", "response", "id", "usage", "error", "headers", "delta"]
                    ),
                    inner,
                )
            ),
        ),
        cut=st.integers(0, 8),
    )
    def test_any_data_is_taken(self, name: str, value: Any, cut: int) -> None:
        data = json.dumps(value).encode()

        decode_payload(name.encode(), data[: len(data) - cut])
