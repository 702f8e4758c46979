"""How the visible pieces of a turn and what users put in are spelled."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import cattrs

from ..protocol import (
    AddFile,
    AgentActivityItem,
    AgentMessageItem,
    CollabAgentItem,
    CommandItem,
    DeleteFile,
    FileChange,
    FileChangeItem,
    ImageInput,
    ImageViewItem,
    LocalImageInput,
    OtherInput,
    OtherTurnItem,
    ReasoningItem,
    TextInput,
    TurnItem,
    UpdateFile,
    UserInput,
    UserMessageItem,
)
from ._shapes import reshape, table, without
from ._unions import TaggedUnion

_INPUTS: Final = TaggedUnion(
    tags={"text": TextInput, "image": ImageInput, "local_image": LocalImageInput},
    other=OtherInput,
)
_CHANGES: Final = TaggedUnion(
    tags={"add": AddFile, "delete": DeleteFile, "update": UpdateFile},
)
_TURN_ITEMS: Final = TaggedUnion(
    tags={
        "UserMessage": UserMessageItem,
        "AgentMessage": AgentMessageItem,
        "Reasoning": ReasoningItem,
        "CommandExecution": CommandItem,
        "FileChange": FileChangeItem,
        "ImageView": ImageViewItem,
        "CollabAgentToolCall": CollabAgentItem,
        "SubAgentActivity": AgentActivityItem,
    },
    other=OtherTurnItem,
)


def register_turn_items(converter: cattrs.Converter) -> None:
    """Teach the converter inputs, changes and turn items."""
    reshape(converter, TextInput, write=lambda fields: {**fields, "text_elements": []})
    reshape(converter, UpdateFile, write=lambda fields: {"move_path": None, **fields})
    _INPUTS.register(converter, UserInput)
    _CHANGES.register(converter, FileChange)
    reshape(converter, AgentMessageItem, read=_read_message, write=_write_message)
    reshape(converter, CommandItem, read=read_command, write=_write_command)
    reshape(
        converter,
        ImageViewItem,
        read=lambda fields: read_path(fields, "path"),
        write=lambda fields: write_path(fields, "path"),
    )
    _TURN_ITEMS.register(converter, TurnItem)


def seconds_of(value: Any) -> float:
    """Seconds of the reference's duration.

    Raises:
        TypeError: if it is none.
    """
    match value:
        case {"secs": int(seconds), "nanos": int(nanos)}:
            return (seconds * 10**9 + nanos) / 10**9
        case _:
            raise TypeError(f"{value!r} is not a duration")


def duration_of(seconds: float) -> dict[str, int]:
    """The reference's duration, to the nanosecond."""
    whole, nanos = divmod(round(seconds * 10**9), 10**9)
    return {"secs": whole, "nanos": nanos}


def read_command(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a command with seconds and a plain path, however they were spelled."""
    fields = {**fields}
    if fields.get("duration") is not None:
        fields["duration"] = seconds_of(fields["duration"])
    return read_path(fields, "cwd")


def read_path(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """The fields with a plain path under the key, where the reference may have a file URL."""
    path = fields.get(key)
    if not isinstance(path, str) or not path.startswith("file://"):
        return fields
    return {**fields, key: unquote(urlsplit(path).path)}


def write_path(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """The fields with a file URL under the key: the reference takes nothing else there."""
    path = fields[key]
    return {**fields, key: f"file://{quote(path)}"} if path.startswith("/") else fields


def unparsed(command: Any) -> list[dict[str, str]]:
    """What the reference wants to know of a command, for one that nobody took apart."""
    return [{"type": "unknown", "cmd": command[-1] if command else ""}]


def _write_command(fields: dict[str, Any]) -> dict[str, Any]:
    if "duration" in fields:
        fields["duration"] = duration_of(fields["duration"])
    return write_path({**fields, "parsed_cmd": unparsed(fields["command"])}, "cwd")


def _read_message(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "text": "".join([table(part)["text"] for part in fields["content"]])}


def _write_message(fields: dict[str, Any]) -> dict[str, Any]:
    return {**without(fields, "text"), "content": [{"type": "Text", "text": fields["text"]}]}
