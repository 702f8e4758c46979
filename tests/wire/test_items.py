from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.protocol import (
    InputText,
    Item,
    Message,
    OtherContent,
    OtherItem,
    OutputText,
    Reasoning,
    ToolCall,
    ToolOutput,
)
from codex_actors.testing import _strategies as some
from codex_actors.wire import (
    BadJson,
    decode_item,
    decode_item_json,
    encode_item,
    encode_json,
    item_fields,
)


@given(some.items())
def test_decoding_what_was_encoded_gives_the_item_back(item: Item) -> None:
    assert spoken(item) == decode_item_json(encode_item(item))


def spoken(item: Item) -> Item:
    """The item without what has no spelling."""
    return attrs.evolve(item, content=()) if isinstance(item, Reasoning) else item


@given(some.items())
def test_fields_are_what_the_bytes_spell(item: Item) -> None:
    assert item_fields(item) == json.loads(encode_item(item))


@given(some.items(), some.unknown_fields())
def test_unknown_keys_survive(item: Item, unknown: dict[str, Any]) -> None:
    fields = item_fields(item) | unknown

    assert fields == item_fields(decode_item(fields))


@given(st.dictionaries(some.names(), some.json_values()), st.text("abc", min_size=1))
def test_unknown_types_survive(fields: dict[str, Any], tag: str) -> None:
    fields = fields | {"type": tag}

    assert fields == item_fields(decode_item(fields))


KNOWN = ["message", "reasoning", "function_call", "custom_tool_call_output", 3, None]


@given(
    st.sampled_from(KNOWN),
    st.dictionaries(
        st.sampled_from(["role", "content", "call_id", "name", "arguments", "output", "id"]),
        some.json_values(),
    ),
)
def test_what_does_not_fit_its_class_is_kept_as_it_came(tag: Any, fields: dict[str, Any]) -> None:
    fields = {"type": tag, **fields}

    item = decode_item(fields)

    if isinstance(item, OtherItem):
        assert fields == item_fields(item)
    else:
        assert spoken(item) == decode_item_json(encode_item(item))


@pytest.mark.parametrize(
    ("spelled", "item"),
    [
        (
            {
                "type": "message",
                "status": "completed",
                "id": "m",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "hi", "annotations": []}],
            },
            Message(
                role="assistant",
                content=(OutputText("hi", {"annotations": []}),),
                id="m",
                extra={"status": "completed"},
            ),
        ),
        (
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "so"}],
                "encrypted_content": "x",
            },
            Reasoning(summary=("so",), encrypted_content="x"),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "***"},
            ToolCall(call_id="c", name="apply_patch", arguments="***", kind="custom"),
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "a"}, {"type": "zz", "b": 1}],
            },
            ToolOutput(call_id="c", output=(InputText("a"), OtherContent("zz", {"b": 1}))),
        ),
        (
            {"type": "function_call", "name": "shell", "arguments": "{}"},
            OtherItem("function_call", {"name": "shell", "arguments": "{}"}),
        ),
    ],
)
def test_spelling(spelled: dict[str, Any], item: Item) -> None:
    assert (item, spelled) == (decode_item(spelled), item_fields(item))


def test_null_is_absent() -> None:
    fields: dict[str, Any] = {"type": "reasoning", "summary": [], "content": None}

    assert Reasoning() == decode_item(fields)


def test_a_bare_string_is_one_text_part() -> None:
    fields = {"type": "message", "role": "user", "content": "hi"}

    assert Message(role="user", content=(InputText("hi"),)) == decode_item(fields)


def test_raw_thoughts_are_read_and_never_written() -> None:
    thought = {"type": "reasoning_text", "text": "hm"}
    fields = {"type": "reasoning", "summary": [], "content": [thought, {**thought, "type": "text"}]}

    item = decode_item(fields)

    assert (Reasoning(content=("hm", "hm")), {"type": "reasoning", "summary": []}) == (
        item,
        item_fields(item),
    )


def test_failure_has_no_spelling() -> None:
    failed = ToolOutput(call_id="c", output="no", ok=False)

    assert attrs.evolve(failed, ok=True) == decode_item_json(encode_item(failed))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'"x"', b'{"a":"\xff"}', b"[" * 100_000])
def test_bytes_that_are_no_object_are_refused(data: bytes) -> None:
    with pytest.raises(BadJson):
        decode_item_json(data)


def test_text_that_utf8_cannot_hold_is_written_with_a_replacement() -> None:
    assert encode_json({"a\ud800": ("\udc00",)}) == b'{"a?":["?"]}'


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**30, 1e300])
def test_great_numbers_survive(number: float) -> None:
    fields = {"type": "zz", "n": number}

    assert fields == json.loads(encode_item(decode_item_json(json.dumps(fields).encode())))
