"""How a scripted step streams: the same frames for a client in the process and over HTTP. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from ..protocol import TokenUsage
from ..wire._items import item_fields
from ..wire._json import encode_json
from ._script import ScriptItem
from ._script_plan import Answering

_PIECES: Final = 3
"""Deltas that a text is cut into."""


@attrs.frozen
class Frame:
    """One event of the stream."""

    name: bytes
    data: bytes

    @property
    def sse(self) -> bytes:
        """The event as it goes over a connection."""
        return b"event: %s\ndata: %s\n\n" % (self.name, self.data)


@attrs.frozen
class Pause:
    """The model thinks."""

    seconds: float


@attrs.frozen
class Cut:
    """The connection breaks."""


@attrs.frozen(kw_only=True)
class Refusing:
    """No stream at all, but an HTTP status; the step has nothing else then."""

    status: int
    body: bytes
    headers: Mapping[str, str]


Action: TypeAlias = Frame | Pause | Cut
"""One thing that happens while a response streams."""


def render(answering: Answering) -> tuple[Action, ...] | Refusing:
    """Return how the step streams, from ``response.created`` to ``response.completed``."""
    for item in answering.items:
        if isinstance(item, Mapping) and "http" in item:
            return _refusing(item)
    return tuple(_actions(answering))


def _refusing(item: Mapping[str, Any]) -> Refusing:
    body = item.get("body", {"error": {"message": "scripted"}})
    encoded = body.encode() if isinstance(body, str) else encode_json(body)
    headers = {str(name).lower(): str(value) for name, value in item.get("headers", {}).items()}
    return Refusing(status=item["http"], body=encoded, headers=headers)


def _actions(answering: Answering) -> Iterator[Action]:
    response = {"id": f"resp_r{answering.step}"}
    yield _frame("response.created", response=response)
    calls = 0
    for n, item in enumerate(answering.items):
        suffix = f"r{answering.step}i{n}"
        match item:
            case {"sleep": seconds}:
                yield Pause(float(seconds))
            case {"drop": bool(dropped)}:
                if dropped:
                    yield Cut()
                    return
            case {"event": payload}:
                yield Frame(str(payload.get("type", "message")).encode(), encode_json(payload))
            case _:
                fields = _item_fields(item, suffix, f"r{answering.step}c{calls}")
                calls += "call_id" in fields
                yield from _item_frames(fields, n)
    yield _frame(
        "response.completed",
        response={**response, "status": "completed", "usage": _usage(answering.usage)},
    )


def _item_fields(item: ScriptItem, suffix: str, call_id: str) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        return item_fields(item)
    rest = dict(item)
    if "say" in rest:
        return _message(_string(rest.pop("say")), f"msg_{suffix}") | rest
    if "reason" in rest:
        return _reasoning(_string(rest["reason"]), f"rs_{suffix}")
    if "custom" in rest:
        head = {"type": "custom_tool_call", "id": f"ctc_{suffix}", "status": "completed"}
        text = _string(rest.pop("input", ""))
        return {**head, "call_id": call_id, "name": rest.pop("custom"), "input": text, **rest}
    head = {"type": "function_call", "id": f"fc_{suffix}", "status": "completed"}
    args, raw = rest.pop("args", {}), rest.pop("raw_args", None)
    text = json.dumps(args) if raw is None else _string(raw)
    return {**head, "call_id": call_id, "name": rest.pop("call"), "arguments": text, **rest}


def _message(text: str, item_id: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    head = {"type": "message", "id": item_id, "role": "assistant", "status": "completed"}
    return {**head, "content": [part]}


def _reasoning(text: str, item_id: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}]
    head = {"type": "reasoning", "id": item_id, "summary": summary}
    return {**head, "encrypted_content": "scripted"}


def _string(value: Any) -> str:
    """Return a filled string: a placeholder may have stood for any JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _item_frames(item: dict[str, Any], index: int) -> Iterator[Frame]:
    at = {"output_index": index, "item_id": item.get("id", "")}
    match item:
        case {"type": "message", "content": [{"text": str(text)}]}:
            yield _added({**item, "content": []}, index)
            for piece in _cut(text):
                yield _frame("response.output_text.delta", **at, content_index=0, delta=piece)
        case {"type": "reasoning", "summary": [{"text": str(text)}]}:
            yield _added({**item, "summary": []}, index)
            yield _frame("response.reasoning_summary_part.added", **at, summary_index=0)
            for piece in _cut(text):
                name = "response.reasoning_summary_text.delta"
                yield _frame(name, **at, summary_index=0, delta=piece)
        case {"type": "custom_tool_call", "input": str(text)}:
            yield _added({**item, "input": "", "status": "in_progress"}, index)
            for piece in _cut(text):
                yield _frame("response.custom_tool_call_input.delta", **at, delta=piece)
        case {"type": "function_call", "arguments": str(text)}:
            yield _added({**item, "arguments": "", "status": "in_progress"}, index)
            for piece in _cut(text):
                yield _frame("response.function_call_arguments.delta", **at, delta=piece)
        case _:
            pass
    yield _frame("response.output_item.done", output_index=index, item=item)


def _added(item: dict[str, Any], index: int) -> Frame:
    return _frame("response.output_item.added", output_index=index, item=item)


def _cut(text: str) -> list[str]:
    size = -(-len(text) // _PIECES) or 1
    return [text[at : at + size] for at in range(0, len(text), size)]


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_write_input_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_output_tokens},
        "total_tokens": usage.total_tokens,
    }


def _frame(name: str, **fields: Any) -> Frame:
    return Frame(name.encode(), encode_json({"type": name, **fields}))
