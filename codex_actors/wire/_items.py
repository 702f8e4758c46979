"""How the items of a history are spelled: in requests, in streams and in rollouts.

Two laws hold for whatever a provider or a file says (tests/wire/test_items.py):

* decoding never refuses a JSON object. What this version has no class for, or what does not
  have the shape of its class, becomes an `OtherItem` and is written back as it came;
* decoding what was encoded gives the item back, except for what has no spelling:
  `ToolOutput.ok`, which the words must say, and `Reasoning.content`. Raw thoughts are read, for
  people, but neither sent back to a model nor kept in a rollout's items, as in the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, assert_never

from ..protocol import (
    ContentPart,
    InputImage,
    InputText,
    Item,
    Message,
    OtherContent,
    OtherItem,
    OutputText,
    Reasoning,
    ToolCall,
    ToolKind,
    ToolOutput,
)
from ._json import decode_object, encode_json

_Fields: TypeAlias = Mapping[str, Any]


class _Misfit(Exception):
    """A known type without the shape of its class."""


def decode_item(fields: _Fields) -> Item:
    """The item that a decoded JSON object stands for.

    Whatever does not fit a known class becomes an `OtherItem`; nothing is refused.
    """
    tag = fields.get("type")
    decode = _DECODERS.get(tag) if isinstance(tag, str) else None
    if decode is not None:
        try:
            return decode(fields)
        except _Misfit:
            pass
    if isinstance(tag, str):
        return OtherItem(tag, {k: v for k, v in fields.items() if k != "type"})
    return OtherItem("", dict(fields))


def decode_item_json(data: bytes) -> Item:
    """The item that a JSON text stands for.

    Raises:
        BadJson: if the bytes are not one JSON object.
    """
    return decode_item(decode_object(data))


def encode_item(item: Item) -> bytes:
    """The item's compact JSON: ids included, absent fields left out."""
    return encode_json(item_fields(item))


def item_fields(item: Item) -> dict[str, Any]:
    """The item as the JSON object that it is spelled as."""
    match item:
        case Message():
            return _message_fields(item)
        case Reasoning():
            return _reasoning_fields(item)
        case ToolCall():
            return _call_fields(item)
        case ToolOutput():
            return _output_fields(item)
        case OtherItem(tag, fields):
            return {"type": tag, **fields} if tag else dict(fields)
        case _:
            assert_never(item)


def decode_part(value: Any) -> ContentPart:
    """The content part that a decoded JSON object stands for.

    Raises:
        _Misfit: if it is no object with a type.
    """
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise _Misfit
    fields: dict[str, Any] = {key: inner for key, inner in value.items() if key != "type"}
    return _known_part(value["type"], fields) or OtherContent(value["type"], fields)


def _known_part(tag: str, fields: dict[str, Any]) -> ContentPart | None:
    match tag, fields:
        case "input_text", {"text": str(text)} if len(fields) == 1:
            return InputText(text)
        case "output_text", {"text": str(text)}:
            del fields["text"]
            return OutputText(text, fields)
        case "input_image", {"image_url": str(url)} if len(fields) == 1:
            return InputImage(url)
        case "input_image", {"image_url": str(url), "detail": str(detail)} if len(fields) == 2:
            return InputImage(url, detail)
        case _:
            return None


def part_fields(part: ContentPart) -> dict[str, Any]:
    """The part as the JSON object that it is spelled as."""
    match part:
        case InputText(text):
            return {"type": "input_text", "text": text}
        case OutputText(text, extra):
            return {"type": "output_text", "text": text, **extra}
        case InputImage(url, None):
            return {"type": "input_image", "image_url": url}
        case InputImage(url, detail):
            return {"type": "input_image", "image_url": url, "detail": detail}
        case OtherContent(tag, fields):
            return {"type": tag, **fields}
        case _:
            assert_never(part)


def _decode_message(fields: _Fields) -> Message:
    role = _text(fields, "role")
    return Message(
        role=role,
        content=_message_content(role, fields.get("content")),
        phase=_optional_text(fields, "phase"),
        id=_optional_text(fields, "id"),
        extra=_rest(fields, _MESSAGE),
    )


def _message_content(role: str, content: Any) -> tuple[ContentPart, ...]:
    # Programs may send a bare string for a message of one text part; rollouts never do.
    if isinstance(content, str):
        return (OutputText(content) if role == "assistant" else InputText(content),)
    return _parts(content)


def _decode_reasoning(fields: _Fields) -> Reasoning:
    return Reasoning(
        summary=_texts(fields.get("summary"), ("summary_text",)),
        content=_texts(fields.get("content"), ("reasoning_text", "text")),
        encrypted_content=_optional_text(fields, "encrypted_content"),
        id=_optional_text(fields, "id"),
        extra=_rest(fields, _REASONING),
    )


def _decode_call(kind: ToolKind) -> Callable[[_Fields], ToolCall]:
    spoken = _ARGUMENTS[kind]
    known = frozenset({"type", "call_id", "name", "namespace", "id", spoken})

    def decode(fields: _Fields) -> ToolCall:
        return ToolCall(
            call_id=_text(fields, "call_id"),
            name=_text(fields, "name"),
            arguments=_text(fields, spoken),
            kind=kind,
            namespace=_optional_text(fields, "namespace"),
            id=_optional_text(fields, "id"),
            extra=_rest(fields, known),
        )

    return decode


def _decode_output(kind: ToolKind) -> Callable[[_Fields], ToolOutput]:
    def decode(fields: _Fields) -> ToolOutput:
        output = fields.get("output")
        return ToolOutput(
            call_id=_text(fields, "call_id"),
            output=output if isinstance(output, str) else _parts(output),
            kind=kind,
            id=_optional_text(fields, "id"),
            extra=_rest(fields, _OUTPUT),
        )

    return decode


def _message_fields(item: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "message"}
    if item.id is not None:
        fields["id"] = item.id
    fields["role"] = item.role
    fields["content"] = [part_fields(part) for part in item.content]
    if item.phase is not None:
        fields["phase"] = item.phase
    fields.update(item.extra)
    return fields


def _reasoning_fields(item: Reasoning) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "reasoning"}
    if item.id is not None:
        fields["id"] = item.id
    fields["summary"] = [{"type": "summary_text", "text": text} for text in item.summary]
    if item.encrypted_content is not None:
        fields["encrypted_content"] = item.encrypted_content
    fields.update(item.extra)
    return fields


def _call_fields(item: ToolCall) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": _CALLS[item.kind]}
    if item.id is not None:
        fields["id"] = item.id
    fields["call_id"] = item.call_id
    fields["name"] = item.name
    if item.namespace is not None:
        fields["namespace"] = item.namespace
    fields[_ARGUMENTS[item.kind]] = item.arguments
    fields.update(item.extra)
    return fields


def _output_fields(item: ToolOutput) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": _OUTPUTS[item.kind]}
    if item.id is not None:
        fields["id"] = item.id
    fields["call_id"] = item.call_id
    if isinstance(item.output, str):
        fields["output"] = item.output
    else:
        fields["output"] = [part_fields(part) for part in item.output]
    fields.update(item.extra)
    return fields


def _text(fields: _Fields, key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise _Misfit
    return value


def _optional_text(fields: _Fields, key: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise _Misfit
    return value


def _parts(value: Any) -> tuple[ContentPart, ...]:
    if not isinstance(value, list):
        raise _Misfit
    return tuple([decode_part(part) for part in value])


def _texts(value: Any, tags: tuple[str, ...]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _Misfit
    return tuple([_tagged_text(part, tags) for part in value])


def _tagged_text(part: Any, tags: tuple[str, ...]) -> str:
    match part:
        case {"type": tag, "text": str(text), **rest} if tag in tags and not rest:
            return text
        case _:
            raise _Misfit


def _rest(fields: _Fields, known: frozenset[str]) -> dict[str, Any]:
    if fields.keys() <= known:
        return {}
    return {key: value for key, value in fields.items() if key not in known}


_MESSAGE: Final = frozenset({"type", "id", "role", "content", "phase"})
_REASONING: Final = frozenset({"type", "id", "summary", "content", "encrypted_content"})
_OUTPUT: Final = frozenset({"type", "id", "call_id", "output"})
_CALLS: Final[Mapping[ToolKind, str]] = {"function": "function_call", "custom": "custom_tool_call"}
_OUTPUTS: Final[Mapping[ToolKind, str]] = {
    "function": "function_call_output",
    "custom": "custom_tool_call_output",
}
_ARGUMENTS: Final[Mapping[ToolKind, str]] = {"function": "arguments", "custom": "input"}
_DECODERS: Final[Mapping[str, Callable[[_Fields], Item]]] = {
    "message": _decode_message,
    "reasoning": _decode_reasoning,
    "function_call": _decode_call("function"),
    "custom_tool_call": _decode_call("custom"),
    "function_call_output": _decode_output("function"),
    "custom_tool_call_output": _decode_output("custom"),
}
