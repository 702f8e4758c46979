"""How the Responses API is spelled: one request, and the payloads of its stream.

Requests are joined from JSON that was encoded before; a long history is never encoded again.
Payloads are decoded straight into the values that the core reads, and whatever a server leaves
out has a default. Decoding never raises: what cannot be read is None, like what is of no use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import attrs
import msgspec

from ..protocol import (
    Item,
    ItemAdded,
    ItemDone,
    ReasoningContentDelta,
    ReasoningSummaryDelta,
    ReasoningSummaryPartAdded,
    TextDelta,
    TokenUsage,
    ToolInputDelta,
)
from ..protocol._payloads import Payload, ResponsePhase, ResponseSeen, UnreadableEnd
from ._items import decode_item_json
from ._json import BadJson, encode_json


class RequestFields(Protocol):
    """What a request is made of; `codex_actors.models.Prompt` is one."""

    @property
    def model(self) -> str: ...
    @property
    def input(self) -> Sequence[bytes]: ...
    @property
    def instructions(self) -> str: ...
    @property
    def tools(self) -> bytes: ...
    @property
    def parallel_tool_calls(self) -> bool: ...
    @property
    def effort(self) -> str | None: ...
    @property
    def summary(self) -> str | None: ...
    @property
    def verbosity(self) -> str | None: ...
    @property
    def service_tier(self) -> str | None: ...
    @property
    def output_schema(self) -> Any: ...
    @property
    def session_id(self) -> str: ...
    @property
    def metadata(self) -> bytes: ...


def encode_request(fields: RequestFields) -> bytes:
    """The body of ``POST /responses``. Items and tools are joined as they are, ids included."""
    before, after = request_ends(fields)
    return b"".join([before, b",".join(fields.input), after])


def request_ends(fields: RequestFields) -> tuple[bytes, bytes]:
    """What stands before and after the items in the body of ``POST /responses``."""
    before = [b'{"model":', encode_json(fields.model)]
    if fields.instructions:
        before += b',"instructions":', encode_json(fields.instructions)
    before.append(b',"stream":true,"input":[')
    after = [b'],"tools":', fields.tools, b',"tool_choice":"auto",']
    after.append(encode_json(_settings(fields))[1:-1])
    if fields.metadata != b"{}":
        after += b',"client_metadata":', fields.metadata
    after.append(b"}")
    return b"".join(before), b"".join(after)


def _settings(fields: RequestFields) -> dict[str, Any]:
    settings: dict[str, Any] = {"parallel_tool_calls": fields.parallel_tool_calls}
    if reasoning := _reasoning(fields.effort, fields.summary):
        settings["reasoning"] = reasoning
    # Nothing is stored at the provider, so its reasoning must come back, encrypted, with us.
    settings |= {"store": False, "include": ["reasoning.encrypted_content"]}
    if fields.service_tier is not None:
        settings["service_tier"] = fields.service_tier
    if fields.session_id:
        settings["prompt_cache_key"] = fields.session_id
    if text := _text(fields.verbosity, fields.output_schema):
        settings["text"] = text
    return settings


def _reasoning(effort: str | None, summary: str | None) -> dict[str, str]:
    reasoning = {}
    if effort is not None:
        # "ultra" is a word of clients; the API's strongest effort is called "max".
        reasoning["effort"] = "max" if effort == "ultra" else effort
    if summary is not None and summary != "none":
        reasoning["summary"] = summary
    return reasoning


def _text(verbosity: str | None, schema: Any) -> dict[str, Any]:
    text: dict[str, Any] = {}
    if verbosity is not None:
        text["verbosity"] = verbosity
    if schema is not None:
        name = "codex_output_schema"
        text["format"] = {"type": "json_schema", "strict": True, "schema": schema, "name": name}
    return text


def decode_payload(name: bytes, data: bytes) -> Payload | None:
    """What one event of a response stream says; None if it says nothing of use.

    Args:
        name: The event's name. It picks the decoder, unless the data calls itself otherwise.
        data: The event's data: one JSON object.
    """
    decode, openings, _ = _KINDS.get(name, _UNKNOWN)
    if not data.startswith(openings):
        decode, _, _ = _KINDS.get(_type_of(data) or name, _UNKNOWN)
    try:
        return decode(data)
    except _UNREADABLE:
        return _decode_mended(_KINDS.get(_type_of(data) or name, _UNKNOWN), data)


def decode_payloads(events: Iterable[tuple[bytes, bytes]]) -> list[Payload | None]:
    """What events say, in order: `decode_payload` for many, since they come in runs of a kind."""
    payloads: list[Payload | None] = []
    known, (decode, openings, _) = b"", _UNKNOWN
    for name, data in events:
        if name is not known:
            known, (decode, openings, _) = name, _KINDS.get(name, _UNKNOWN)
        if data.startswith(openings):
            try:
                payloads.append(decode(data))
            except _UNREADABLE:
                payloads.append(decode_payload(name, data))
        else:
            payloads.append(decode_payload(name, data))
    return payloads


def _type_of(data: bytes) -> bytes:
    if found := _TYPE_FIRST.match(data):
        return found[1]
    try:
        tag = _TAG.decode(data).type
    except _UNREADABLE:
        return b""
    return tag.encode() if isinstance(tag, str) else b""


def _decode_mended(kind: _Kind, data: bytes) -> Payload | None:
    """Decode again without what strict decoding refuses but some servers send.

    That is bytes that are not UTF-8, halves of surrogate pairs, and null for "absent". A broken
    letter must not cost an item.
    """
    try:
        fields = json.loads(data.decode("utf-8", "replace"))
        if not isinstance(fields, dict):
            raise BadJson("the data is no JSON object")
        present = {key: value for key, value in fields.items() if value is not None}
        return kind.decode(encode_json(present))
    except (*_UNREADABLE, ValueError, OverflowError) as error:
        return UnreadableEnd(f"response.completed cannot be read: {error}") if kind.ends else None


@attrs.frozen
class _Tagged:
    type: Any = None


@attrs.frozen
class _ItemPayload:
    item: msgspec.Raw


@attrs.frozen
class _Details:
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@attrs.frozen
class _Usage:
    input_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens: int | None = None
    output_tokens_details: _Details | None = None
    total_tokens: int | None = None


@attrs.frozen
class _Response:
    id: str | None = None
    usage: _Usage | None = None
    end_turn: bool | None = None
    # Only read when things went wrong, and then in whatever shape the provider likes.
    error: Any = None
    incomplete_details: Any = None
    headers: Any = None


@attrs.frozen
class _ResponsePayload:
    response: _Response | None = None
    headers: Any = None


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadJson)
_TYPE_FIRST: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z_.]+)"')
_TAG: Final = msgspec.json.Decoder(_Tagged)
_ITEM: Final = msgspec.json.Decoder(_ItemPayload)
_RESPONSE: Final = msgspec.json.Decoder(_ResponsePayload)
_NOTHING: Final = _Response()
_NO_USAGE: Final = _Details()


def _decode_item(data: bytes) -> tuple[Item, bytes]:
    encoded = bytes(_ITEM.decode(data).item)
    return decode_item_json(encoded), encoded


def _decode_added(data: bytes) -> Payload:
    return ItemAdded(_decode_item(data)[0])


def _decode_done(data: bytes) -> Payload:
    return ItemDone(*_decode_item(data))


def _about_response(phase: ResponsePhase) -> _Decode:
    def decode(data: bytes) -> Payload:
        payload = _RESPONSE.decode(data)
        response = payload.response or _NOTHING
        return ResponseSeen(
            phase=phase,
            response_id=response.id or "",
            usage=None if response.usage is None else _usage(response.usage),
            end_turn=response.end_turn,
            error_code=_member(response.error, "code"),
            error_message=_member(response.error, "message"),
            incomplete_reason=_member(response.incomplete_details, "reason"),
            server_model=_server_model(response.headers) or _server_model(payload.headers),
        )

    return decode


def _usage(usage: _Usage) -> TokenUsage:
    read = usage.input_tokens_details or _NO_USAGE
    written = usage.output_tokens_details or _NO_USAGE
    return TokenUsage(
        input_tokens=usage.input_tokens or 0,
        cached_input_tokens=read.cached_tokens or 0,
        cache_write_input_tokens=read.cache_write_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        reasoning_output_tokens=written.reasoning_tokens or 0,
        total_tokens=usage.total_tokens or 0,
    )


def _member(fields: Any, key: str) -> str | None:
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else None


def _server_model(headers: Any) -> str | None:
    if not isinstance(headers, dict):
        return None
    folded = {key.lower(): value for key, value in headers.items()}
    return _member(folded, "openai-model")


_Decode: TypeAlias = Callable[[bytes], Payload | None]


class _Kind(NamedTuple):
    """A named tuple, since one is taken apart per token of text."""

    decode: _Decode
    openings: tuple[bytes, ...]
    """How data of this kind begins when it is written the usual way: its type first."""
    ends: bool = False


def _ignore(data: bytes) -> None:
    """Whatever ``data`` is, nobody needs it."""


def _kinds(decoders: Mapping[str, _Decode]) -> dict[bytes, _Kind]:
    return {
        name.encode(): _Kind(
            decode,
            (f'{{"type":"{name}"'.encode(), f'{{"type": "{name}"'.encode()),
            ends=name == "response.completed",
        )
        for name, decode in decoders.items()
    }


_UNKNOWN: Final = _Kind(_ignore, ())
_KINDS: Final = _kinds(
    {
        "response.output_text.delta": msgspec.json.Decoder(TextDelta).decode,
        "response.custom_tool_call_input.delta": msgspec.json.Decoder(ToolInputDelta).decode,
        "response.reasoning_summary_text.delta": msgspec.json.Decoder(ReasoningSummaryDelta).decode,
        "response.reasoning_summary_part.added": msgspec.json.Decoder(
            ReasoningSummaryPartAdded
        ).decode,
        "response.reasoning_text.delta": msgspec.json.Decoder(ReasoningContentDelta).decode,
        "response.output_item.added": _decode_added,
        "response.output_item.done": _decode_done,
        "response.created": _about_response("created"),
        "response.in_progress": _about_response("going"),
        "response.metadata": _about_response("going"),
        "response.completed": _about_response("completed"),
        "response.failed": _about_response("failed"),
        "response.incomplete": _about_response("incomplete"),
    }
)
