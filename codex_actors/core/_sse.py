"""Server-sent events out of bytes, in whatever pieces the bytes come.

Invariants, held by ``tests/core/test_sse.py``: how the bytes are cut does not matter, and any
bytes either parse or raise `SseError`.

Data stays bytes: the JSON decoder takes them as they are, and a token of text costs no detour
through `str`. A piece without a carriage return, which is what model servers send, is split once.
"""

from __future__ import annotations

from typing import NamedTuple, final

import attrs

from .._errors import CodexActorsError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""A generated image comes as one event of several megabytes; nothing honest is larger than this."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseError(CodexActorsError):
    """The stream is no sensible event stream; nothing more can be read from it."""


class ServerSentEvent(NamedTuple):
    """One event. A named tuple, since one is made per token of text: it is made in half the time."""

    event: bytes
    """Its name; ``b"message"`` when the server gave none."""
    data: bytes
    """Its data lines, joined by newlines, not decoded."""


@final
@attrs.define(eq=False)
class SseDecoder:
    """Feed it bytes; it returns the events that they complete.

    Follows the parsing rules of the WHATWG for ``event`` and ``data``. ``id`` and ``retry`` are
    ignored, since model providers do not resume streams, and an event that the end of the stream
    cuts short is never returned.
    """

    max_event_bytes: int = attrs.field(default=MAX_EVENT_BYTES, kw_only=True)
    _pending: list[bytes] = attrs.field(factory=list[bytes], init=False)
    _pending_size: int = attrs.field(default=0, init=False)
    _after_return: bool = attrs.field(default=False, init=False)
    _at_start: bool = attrs.field(default=True, init=False)
    _failure: str | None = attrs.field(default=None, init=False)

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events completed by ``data``; ``b""`` is not end of file.

        Raises:
            SseError: An event is larger than ``max_event_bytes``. Events that came before it are
                returned first, and the next call raises; so does every later one.
        """
        if self._failure is not None:
            raise SseError(self._failure)
        if self._after_return or b"\r" in data:
            data = self._with_newlines(data)
        events = self._events(self._blocks(data))
        if self._failure is not None and not events:
            raise SseError(self._failure)
        return events

    def _events(self, blocks: list[bytes]) -> list[ServerSentEvent]:
        events = []
        for block in blocks:
            if len(block) > self.max_event_bytes:
                self._fail(len(block))
                break
            if self._at_start:
                self._at_start = False
                block = block.removeprefix(_BYTE_ORDER_MARK)
            if (event := _parse(block)) is not None:
                events.append(event)
        return events

    def _with_newlines(self, data: bytes) -> bytes:
        """Return ``data`` with LF for CRLF and CR, of which a piece may hold one half."""
        if not data:
            return data
        if self._after_return:
            data = data.removeprefix(b"\n")
        self._after_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _blocks(self, data: bytes) -> list[bytes]:
        """Return the blocks that a blank line has ended; keep the rest.

        A large event comes in many pieces: only the new piece is searched, and the pieces are
        joined once, when it ends.
        """
        if self._pending:
            across = data.startswith(b"\n") and self._pending[-1].endswith(b"\n")
            if not across and b"\n\n" not in data:
                if data:
                    self._keep(data)
                return []
            data = b"".join([*self._pending, data])
            self._pending, self._pending_size = [], 0
        blocks = data.split(b"\n\n")
        rest = blocks.pop()
        if rest:
            self._keep(rest)
        return blocks

    def _keep(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._pending_size += len(piece)
        if self._pending_size > self.max_event_bytes + 1:  # 1: half of the blank line
            self._fail(self._pending_size)

    def _fail(self, size: int) -> None:
        self._failure = (
            f"an event of {size} bytes or more exceeds the limit of {self.max_event_bytes};"
            " is this an event stream?"
        )


def _parse(block: bytes) -> ServerSentEvent | None:
    lines = block.split(b"\n")
    if len(lines) == 2 and lines[0][:7] == b"event: " and lines[1][:6] == b"data: ":
        return ServerSentEvent(lines[0][7:] or b"message", lines[1][6:])
    event, data = b"", []
    for line in lines:
        field, _, value = line.partition(b":")
        if field == b"event":
            event = value.removeprefix(b" ")
        elif field == b"data":
            data.append(value.removeprefix(b" "))
    return ServerSentEvent(event or b"message", b"\n".join(data)) if data else None
