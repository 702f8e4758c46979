"""JSON text and the values it stands for: the one place that knows who parses it."""

from __future__ import annotations

from typing import Any

import msgspec

from .._errors import CodexActorsError


class WireError(CodexActorsError, ValueError):
    """Something that came from outside is not spelled as it should be."""


class BadJson(WireError):
    """Bytes that are not JSON."""


_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def encode_json(value: Any) -> bytes:
    """Compact JSON of plain values: dicts, lists, tuples, strings, numbers, bools and None.

    Text that UTF-8 cannot hold (half of a surrogate pair) is written with a replacement
    character, since no reader would take it.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_speakable(value))


def decode_json(data: bytes) -> Any:
    """The value of one JSON text.

    Raises:
        BadJson: if the bytes are not one JSON text.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadJson(f"the text {data[:60]!r} is not JSON: {error}") from error


def decode_object(data: bytes) -> dict[str, Any]:
    """The JSON object that the bytes spell.

    Raises:
        BadJson: if the bytes are not one JSON object.
    """
    value = decode_json(data)
    if not isinstance(value, dict):
        raise BadJson(f"the text {data[:60]!r} is not a JSON object; write one in braces")
    return value


def _speakable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_speakable(key): _speakable(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_speakable(inner) for inner in value]
        case _:
            return value
