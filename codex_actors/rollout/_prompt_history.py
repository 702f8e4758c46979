"""The prompts that people typed, in one file for all threads: ``<home>/history.jsonl``.

Every program that shares the home appends to the file, so each holds a lock on it while it
writes, and nobody replaces it by another: the lock belongs to the file, not to its name.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from itertools import count
from typing import Final, final

import attrs
import trio

from ..protocol import PromptHistoryRules
from ._files import FILE_MODE

NAME: Final = "history.jsonl"
TRIES: Final = 10
PAUSE: Final = 0.1
"""Seconds between tries to get the lock; both numbers are the reference's."""
KEPT: Final = 0.8
"""Share of the cap that is left after trimming, so that not every prompt trims; the reference's."""


@final
@attrs.frozen(kw_only=True)
class TypedPrompt:
    """One prompt."""

    session_id: str
    """The thread it was typed to."""
    ts: int
    """Unix time in seconds."""
    text: str

    def line(self) -> bytes:
        """Return its line."""
        text = json.dumps(attrs.asdict(self), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace") + b"\n"


async def remember_prompt(home: str, prompt: TypedPrompt, rules: PromptHistoryRules) -> str | None:
    """Add a prompt to the history below ``home``.

    Lines that cannot be read are left out from then on; the file as it was is kept beside it as
    ``history.jsonl.damaged``.

    Returns:
        What went wrong, for people; None if nothing did.

    Cancellation: the prompt is in the file, or it is not.
    """
    path = os.path.join(home, NAME)
    if not rules.save:
        await trio.lowlevel.checkpoint()
        return None
    for attempt in range(TRIES):
        if attempt:
            await trio.sleep(PAUSE)
        try:
            return await trio.to_thread.run_sync(_remember, path, prompt.line(), rules.max_bytes)
        except BlockingIOError:
            continue
        except OSError as error:
            return f"the prompt was not added to {path!r}: {error.strerror}"
    return f"the prompt was not added to {path!r}: another program has it locked"


def _remember(path: str, line: bytes, max_bytes: int | None) -> str | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
        with open(descriptor, "rb", closefd=False) as file:
            before = file.read()
        sound = keep_sound(before)
        aside = None if sound == before else _put_aside(path, before)
        _rewrite(descriptor, before, trim(sound + line, max_bytes))
    finally:
        os.close(descriptor)
    if aside is None:
        return None
    return f"{path!r} was damaged; what can be read was kept, and the file as it was is {aside!r}"


def keep_sound(content: bytes) -> bytes:
    """Return the lines that are prompts; all of ``content`` if nothing is wrong with it."""
    return b"".join(line for line in content.splitlines(keepends=True) if _is_prompt(line))


def trim(content: bytes, max_bytes: int | None) -> bytes:
    """Return the newest lines of ``content``, and the very newest whatever its size.

    Args:
        content: Whole lines.
        max_bytes: If there is more, as many lines are kept as fit into `KEPT` of it.
    """
    if max_bytes is None or len(content) <= max_bytes:
        return content
    lines = content.splitlines(keepends=True)
    size, first = len(lines[-1]), len(lines) - 1
    while first and size + len(lines[first - 1]) <= max_bytes * KEPT:
        first -= 1
        size += len(lines[first])
    return b"".join(lines[first:])


def _is_prompt(line: bytes) -> bool:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return False
    known = isinstance(fields, dict) and all(isinstance(fields.get(n), t) for n, t in _FIELDS)
    return known and line.endswith(b"\n")


_FIELDS: Final = (("session_id", str), ("ts", int), ("text", str))


def _rewrite(descriptor: int, before: bytes, after: bytes) -> None:
    """Write what is new; all of it only if the beginning has changed."""
    if not after.startswith(before):
        _write_at(descriptor, 0, after)
        os.ftruncate(descriptor, len(after))
        return
    try:
        _write_at(descriptor, len(before), after[len(before) :])
    except OSError:
        os.ftruncate(descriptor, len(before))  # no half a line on a full disk
        raise


def _write_at(descriptor: int, start: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, start)
        start, rest = start + written, rest[written:]


def _put_aside(path: str, content: bytes) -> str:
    for number in count(1):
        aside = f"{path}.damaged" if number == 1 else f"{path}.damaged.{number}"
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except FileExistsError:
            continue
        with open(descriptor, "wb") as file:
            file.write(content)
        return aside
    raise AssertionError("there is no end of numbers")
