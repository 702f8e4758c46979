"""The output of one command: kept within bounds, and told to whoever follows it."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final, final

import attrs

from ..core import Captured, HeadTail

DELTA_BYTES: Final = 8192
"""Most bytes in one piece of output that is announced; as Codex has it."""
MAX_DELTAS: Final = 10_000
"""Pieces that are announced of one command; what comes later is kept, but not announced."""

_new_decoder = codecs.getincrementaldecoder("utf-8")


@final
@attrs.define(eq=False)
class CommandOutputBuffer:
    """Takes what a command prints, in any amount: an `OutputSink`.

    The beginning and the end are kept, once for the next look and once as a whole.
    """

    announce: Callable[[bytes], None]
    """Told of each piece of at most `DELTA_BYTES` that splits no character."""
    _unread: HeadTail = attrs.field(factory=HeadTail, init=False)
    _whole: HeadTail = attrs.field(factory=HeadTail, init=False)
    _rest: bytes = attrs.field(default=b"", init=False)
    _announced: int = attrs.field(default=0, init=False)

    def append(self, data: bytes, /) -> None:
        self._unread.append(data)
        self._whole.append(data)
        if self._announced < MAX_DELTAS:
            self._announce_pieces(self._rest + data)

    def read(self, *, final: bool) -> Captured:
        """Take what came since the last time; ``final`` if nothing follows."""
        return self._unread.take(final=final)

    def close(self) -> str:
        """Announce what is left, and return all output. Nothing may follow."""
        if self._rest:
            self._announce(self._rest)
            self._rest = b""
        return self._whole.take(final=True).text

    def _announce_pieces(self, data: bytes) -> None:
        start = 0
        while start < len(data):
            end = start + _whole_length(data[start : start + DELTA_BYTES])
            if end == start:
                break
            self._announce(data[start:end])
            start = end
        self._rest = data[start:]

    def _announce(self, piece: bytes) -> None:
        if self._announced < MAX_DELTAS:
            self._announced += 1
            self.announce(piece)


def _whole_length(data: bytes) -> int:
    """Return the length of ``data`` without a character that it ends in the middle of."""
    decoder = _new_decoder("replace")
    decoder.decode(data[-4:])
    return len(data) - len(decoder.getstate()[0])
