"""Which turns changed files, and what the folders were before and after. Blocks.

One file per thread, of lines of JSON; the last word on a turn counts. A torn last line is passed
over: what it said can be found out again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from .._folders import make_folder
from ..wire._json import BadJson, decode_object, encode_json
from ._errors import UndoError

_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


@final
@attrs.frozen(kw_only=True)
class TurnChanges:
    """One turn that may have changed files."""

    turn_id: str
    at: float
    """When it began to, in Unix seconds."""
    before: Mapping[str, str]
    """By folder, what its files were."""
    after: Mapping[str, str] | None = None
    """What they were at its end; None: that was not written down."""
    undone: bool = False


def read_changes(home: str, thread_id: str) -> tuple[TurnChanges, ...]:
    """Return the turns of a thread that may have changed files, oldest first.

    Raises:
        UndoError: if the file cannot be read.
    """
    turns: dict[str, TurnChanges] = {}
    for line in _lines(_path(home, thread_id)):
        turn_id = line.get("turn")
        if not isinstance(turn_id, str):
            continue
        if isinstance(line.get("before"), dict):
            turns[turn_id] = TurnChanges(
                turn_id=turn_id, at=float(line.get("at", 0)), before=line["before"]
            )
        elif turn_id in turns and isinstance(line.get("after"), dict):
            turns[turn_id] = attrs.evolve(turns[turn_id], after=line["after"])
        elif turn_id in turns and line.get("undone"):
            turns[turn_id] = attrs.evolve(turns[turn_id], undone=True)
    return tuple(turns.values())


def write_line(home: str, thread_id: str, line: Mapping[str, Any]) -> None:
    """Add a line.

    Raises:
        UndoError: if the disk refuses.
    """
    path = _path(home, thread_id)
    try:
        make_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A newline first: the line before it may be torn.
            os.write(descriptor, b"\n" + encode_json(dict(line)) + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UndoError(f"{path!r} cannot be written: {error.strerror}") from error


def _path(home: str, thread_id: str) -> str:
    if not _ID.fullmatch(thread_id):
        raise UndoError(f"{thread_id!r} is no thread id")
    return os.path.join(home, "undo", "threads", f"{thread_id}.jsonl")


def _lines(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UndoError(f"{path!r} cannot be read: {error.strerror}") from error
    found = []
    for line in data.splitlines():
        try:
            found.append(decode_object(line))
        except BadJson:
            continue
    return found
