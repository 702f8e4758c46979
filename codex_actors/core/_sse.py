"""Server-sent events out of bytes, in whatever pieces the bytes come.

Invariants, held by ``tests/core/test_sse.py``: how the bytes are cut does not matter, and any
bytes either parse or raise `SseError`.

Data stays bytes: the JSON decoder takes them as they are, and a token of text costs no detour
through `str`. A piece without a carriage return, which is what model servers send, is split once.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from .._errors import CodexActorsError

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""A generated image comes as one event of several megabytes; nothing honest is larger than this."""

# As numbers: looking for one byte by its number takes a tenth of looking for it as bytes.
_NEWLINE, _RETURN = b"\n\r"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseError(CodexActorsError):
    """The stream is no sensible event stream; nothing more can be read from it."""


ServerSentEvent: TypeAlias = tuple[bytes, bytes]
"""Its name (``b"message"`` when the server gave none), and its data lines, joined by newlines.

A bare pair, since one is made per token of text: a named tuple takes four times as long to make,
and as long again to take apart.
"""


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
    _opening: bytes = attrs.field(default=b"\r", init=False)  # which never comes here
    """How the last event began, up to its data: text comes in long runs of one kind."""
    _name: bytes = attrs.field(default=b"", init=False)
    """The name of that event."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events completed by ``data``; ``b""`` is not end of file.

        Raises:
            SseError: An event is larger than ``max_event_bytes``. Events that came before it are
                returned first, and the next call raises; so does every later one.
        """
        if self._failure is not None:
            raise SseError(self._failure)
        if self._after_return or _RETURN in data:
            data = self._with_newlines(data)
        if data.startswith(self._opening) and (events := self._run(data)):
            return events
        events = self._parse(self._blocks(data))
        if self._failure is not None and not events:
            raise SseError(self._failure)
        return events

    def _run(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events of a piece that is nothing but whole ones of the last kind."""
        if self._pending or data[-2:] != b"\n\n" or len(data) > self.max_event_bytes:
            return []
        opening, name = self._opening, self._name
        events: list[ServerSentEvent] = []
        for line in data[len(opening) : -2].split(b"\n\n" + opening):
            if _NEWLINE in line:
                return []
            events.append((name, line))
        return events

    def _parse(self, blocks: list[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        for block in blocks:
            head, _, data = block.partition(b"\ndata: ")
            if head[:7] == b"event: " and data and _NEWLINE not in head and _NEWLINE not in data:
                self._opening, self._name = head + b"\ndata: ", head[7:] or b"message"
                events.append((self._name, data))
            elif (event := _parse_lines(block)) is not None:
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
        if len(data) > self.max_event_bytes:
            self._drop_from_too_large(blocks)
        if self._at_start and blocks:
            self._at_start = False
            blocks[0] = blocks[0].removeprefix(_BYTE_ORDER_MARK)
        return blocks

    def _drop_from_too_large(self, blocks: list[bytes]) -> None:
        for index, block in enumerate(blocks):
            if len(block) > self.max_event_bytes:
                self._fail(len(block))
                del blocks[index:]
                return

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


def _parse_lines(block: bytes) -> ServerSentEvent | None:
    event, data = b"", []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"event":
            event = value.removeprefix(b" ")
        elif field == b"data":
            data.append(value.removeprefix(b" "))
    return (event or b"message", b"\n".join(data)) if data else None
