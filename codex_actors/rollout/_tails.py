"""The end of a rollout, which says how things stand, without reading what came before.

Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, Final

from ..protocol import RolloutLine
from ..wire import BadRolloutLine, decode_line
from ._errors import UnreadableRollout

TAIL_BYTES: Final = 65536
"""A turn's last request and its end are shorter, but for a line with much output."""


def read_tail(path: str, max_bytes: int = TAIL_BYTES) -> tuple[RolloutLine, ...]:
    """The last whole lines of a rollout; those that cannot be read are passed over.

    If no line ends up whole among the last bytes, as many more are read as it takes to find one.

    Args:
        path: The rollout.
        max_bytes: From how many bytes at its end the lines are taken.

    Raises:
        UnreadableRollout: if the file cannot be opened or read.
    """
    try:
        with open(path, "rb") as file:
            return _read_tail(file, max_bytes)
    except OSError as error:
        raise UnreadableRollout(
            f"the rollout {path!r} cannot be read: {error.strerror}; check its permissions"
        ) from error


def _read_tail(file: BinaryIO, max_bytes: int) -> tuple[RolloutLine, ...]:
    end = file.seek(0, os.SEEK_END)
    while True:
        start = max(end - max_bytes, 0)
        lines = tuple(_decode(_whole_lines(file, start, end)))
        if lines or not start:
            return lines
        max_bytes *= 4


def _whole_lines(file: BinaryIO, start: int, end: int) -> bytes:
    """The bytes from the first line that begins at or after ``start``."""
    if not start:
        file.seek(0)
        return file.read(end)
    # The byte before tells whether a line begins here.
    file.seek(start - 1)
    return file.read(end - start + 1).partition(b"\n")[2]


def _decode(data: bytes) -> Iterator[RolloutLine]:
    for line in data.split(b"\n"):
        try:
            yield decode_line(line)
        except BadRolloutLine:
            continue
