"""The lines of a rollout file. The format is specified in docs/reference/rollout.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, assert_never

import attrs

from ..protocol import (
    Compacted,
    EventLine,
    Recorded,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    TurnContext,
    UnknownLine,
)
from ._converter import decode_event, encode_event, make_converter
from ._items import decode_item, encode_item
from ._json import BadJson, WireError, decode_json, decode_object, encode_json
from ._policies import always_spread, gather_policy
from ._profiles import at_directory
from ._shapes import Misfit, reshape, structure, table, without


class BadRolloutLine(WireError):
    """Bytes that are not a line of a rollout."""


def encode_line(line: RolloutLine) -> bytes:
    """One line of JSON, its newline included."""
    tag, payload = _encode_payload(line.payload)
    ordinal = b"" if line.ordinal is None else b',"ordinal":%d' % line.ordinal
    more = b"," + encode_json(line.extra)[1:-1] if line.extra else b""
    return b'{"timestamp":%b%b,"type":%b,"payload":%b%b}\n' % (
        encode_json(line.timestamp),
        ordinal,
        encode_json(tag),
        payload,
        more,
    )


def decode_line(data: bytes) -> RolloutLine:
    """The line that the bytes spell, with or without a newline.

    A line of an unknown kind, or of a known kind in an unknown shape, becomes an `UnknownLine`.

    Raises:
        BadRolloutLine: if the bytes are no JSON object with a timestamp and a type.
    """
    try:
        fields = decode_object(data)
    except BadJson as error:
        raise BadRolloutLine(str(error)) from error
    timestamp, tag, ordinal = fields.get("timestamp"), fields.get("type"), fields.get("ordinal")
    if not isinstance(timestamp, str) or not isinstance(tag, str):
        raise BadRolloutLine(f"the line {data[:60]!r} has no timestamp or no type")
    try:
        payload = _decode_payload(tag, fields.get("payload"))
    except RecursionError as error:
        raise BadRolloutLine(f"the line {data[:60]!r} is nested too deeply") from error
    return RolloutLine(
        timestamp=timestamp,
        payload=payload,
        ordinal=ordinal if isinstance(ordinal, int) else None,
        extra={key: value for key, value in fields.items() if key not in _ENVELOPE},
    )


def _encode_payload(payload: RolloutPayload) -> tuple[str, bytes]:
    match payload:
        case Recorded(item, encoded):
            return "response_item", encode_item(item) if encoded is None else _one_line(encoded)
        case EventLine(msg):
            return "event_msg", encode_json(encode_event(msg))
        case SessionMeta() | TurnContext() | Compacted():
            return _TAGS[type(payload)], encode_json(_CONVERTER.unstructure(payload))
        case UnknownLine(tag, value):
            return tag, encode_json(value)
        case _:
            assert_never(payload)


def _one_line(encoded: bytes) -> bytes:
    # Providers may lay their JSON out; a newline outside a string would end the line too soon.
    if b"\n" in encoded or b"\r" in encoded:
        return encode_json(decode_json(encoded))
    return encoded


def _decode_payload(tag: str, value: Any) -> RolloutPayload:
    if not isinstance(value, dict):
        return UnknownLine(tag, value)
    match tag:
        case "response_item":
            return Recorded(decode_item(value))
        case "event_msg":
            return EventLine(decode_event(value))
        case "session_meta" | "turn_context" | "compacted":
            return _structured(tag, value)
        case _:
            return UnknownLine(tag, value)


def _structured(tag: str, fields: dict[str, Any]) -> RolloutPayload:
    try:
        payload: RolloutPayload = structure(_CONVERTER, fields, _CLASSES[tag])
    except Misfit:
        return UnknownLine(tag, fields)
    return payload


def _gather_extra(cls: type[Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name for field in attrs.fields(cls)} - {"extra"}
    gathered = {key: value for key, value in fields.items() if key in known}
    return {**gathered, "extra": without(fields, *known)}


def _scatter_extra(fields: dict[str, Any]) -> dict[str, Any]:
    return {**without(fields, "extra"), **fields["extra"]}


def _read_meta(fields: dict[str, Any]) -> dict[str, Any]:
    # Lines from before trees have no session; whoever was alone was its own root.
    fields = {"session_id": fields["id"], **_ANONYMOUS, **fields}
    base = fields.get("base_instructions")
    fields["base_instructions"] = None if base is None else table(base)["text"]
    return _gather_extra(SessionMeta, fields)


def _write_meta(fields: dict[str, Any]) -> dict[str, Any]:
    base = fields.get("base_instructions")
    spelled = None if base is None else {"text": base}
    return _scatter_extra({**fields, "base_instructions": spelled})


def _read_context(fields: dict[str, Any]) -> dict[str, Any]:
    gathered = gather_policy(_CONVERTER, fields, cwd=str(fields.get("cwd")))
    return _gather_extra(TurnContext, gathered)


def _write_context(fields: dict[str, Any]) -> dict[str, Any]:
    spread = always_spread(_CONVERTER, fields)
    profile = at_directory(spread["permission_profile"], spread["cwd"])
    return _scatter_extra({**spread, "permission_profile": profile})


_ENVELOPE: Final = frozenset({"timestamp", "ordinal", "type", "payload"})
_ANONYMOUS: Final = {"timestamp": "", "cwd": "", "originator": "", "cli_version": ""}
_CLASSES: Final[Mapping[str, type[Any]]] = {
    "session_meta": SessionMeta,
    "turn_context": TurnContext,
    "compacted": Compacted,
}
_TAGS: Final[Mapping[type[Any], str]] = {cls: tag for tag, cls in _CLASSES.items()}
_CONVERTER: Final = make_converter()
reshape(_CONVERTER, SessionMeta, read=_read_meta, write=_write_meta)
reshape(_CONVERTER, TurnContext, read=_read_context, write=_write_context)
reshape(
    _CONVERTER,
    Compacted,
    read=lambda fields: _gather_extra(Compacted, fields),
    write=_scatter_extra,
)
