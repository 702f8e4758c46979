"""The bytes that are sent: response streams as a provider writes them, and items of a history."""

from __future__ import annotations

import json
import random
from typing import Any, Final

from codex_actors.protocol import InputText, Item, Message, OutputText, ToolCall, ToolOutput

DELTAS: Final = 6
"""Pieces of text in a short stream; with four events around them they are ten."""

_WORDS: Final = [
    "the",
    "tests",
    "of",
    "this",
    "module",
    "fail",
    "because",
    "a",
    "path",
    "is",
    "joined",
    "twice",
    "before",
    "it",
    "is",
    "read",
]
_ID: Final = "msg_68a1f2c09d3c8190a5e4b7d2c1f0e9a80b6d5c4e3f2a1b09"


def event(kind: str, **fields: Any) -> bytes:
    """One server-sent event of a response stream."""
    data = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def delta(number: int) -> bytes:
    """A piece of text, with all that a provider says about it: about 240 bytes."""
    return event(
        "response.output_text.delta",
        sequence_number=number,
        item_id=_ID,
        output_index=0,
        content_index=0,
        delta=f" {_WORDS[number % len(_WORDS)]}",
        logprobs=[],
    )


def text_stream() -> list[bytes]:
    """A short answer in ten events."""
    text = "".join(f" {_WORDS[number]}" for number in range(DELTAS))
    begun = {"type": "message", "id": _ID, "role": "assistant", "status": "in_progress"}
    whole = {"status": "completed", "content": [{"type": "output_text", "text": text}]}
    return _response(
        event("response.output_item.added", output_index=0, item={**begun, "content": []}),
        *map(delta, range(DELTAS)),
        event("response.output_item.done", output_index=0, item={**begun, **whole}),
    )


def call_stream() -> list[bytes]:
    """A call of the tool ``ping`` in four events."""
    item = {
        "type": "function_call",
        "id": _ID.replace("msg", "fc"),
        "call_id": "call_ping",
        "name": "ping",
        "arguments": '{"text":"are you there?"}',
    }
    return _response(
        event("response.output_item.added", output_index=0, item={**item, "arguments": ""}),
        event("response.output_item.done", output_index=0, item=item),
    )


def history(count: int) -> tuple[Item, ...]:
    """Items of a long session, 300 to 1,000 bytes each: questions, answers, calls and outputs."""
    dice = random.Random(count)
    items: list[Item] = []
    for number in range(0, count, 4):
        call_id = f"call_{number}"
        items += [
            Message(role="user", content=(InputText(_prose(dice)),)),
            ToolCall(
                call_id=call_id, name="shell", arguments=json.dumps({"command": _prose(dice)})
            ),
            ToolOutput(call_id=call_id, output=_prose(dice)),
            Message(role="assistant", content=(OutputText(_prose(dice)),)),
        ]
    return tuple(items[:count])


def _prose(dice: random.Random) -> str:
    return " ".join(dice.choices(_WORDS, k=dice.randrange(60, 190)))


def _response(*events: bytes) -> list[bytes]:
    usage = {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 700},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 940,
    }
    response = {"id": "resp_68a1f2c09d3c8190", "object": "response", "model": "bench"}
    return [
        event("response.created", response={**response, "status": "in_progress"}),
        *events,
        event("response.completed", response={**response, "status": "completed", "usage": usage}),
    ]
