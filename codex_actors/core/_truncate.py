"""Keep both ends of an output that is too long, and say what is missing.

Invariants, held by ``tests/core/test_truncate.py``: a text that fits is returned as it is; one
that does not is a prefix and a suffix of itself around one marker, and those two together are
never longer than the limit in UTF-8 bytes. The marker comes on top, as in the reference. No code
point is ever split.
"""

from __future__ import annotations

from typing import NamedTuple, final

import attrs

from ..protocol import TruncationPolicy
from ._tokens import tokens_of_bytes

HEAD_TAIL_BYTES = 1024 * 1024
"""What a process may have unread before its output loses its middle; the reference's 1 MiB."""


def truncate_middle(text: str, policy: TruncationPolicy) -> str:
    """Return ``text`` with its middle replaced by a marker if it exceeds the policy.

    The result is at most ``policy.max_bytes`` bytes of the text plus the marker,
    ``…N tokens truncated…`` or ``…N chars truncated…``. Unpaired surrogates count three bytes.
    """
    size = _utf8_size(text)
    if size <= policy.max_bytes:
        return text
    before = policy.max_bytes // 2
    head = _first_bytes(text, before)
    tail = _last_bytes(text, policy.max_bytes - before)
    return head + _marker(policy, size, len(text) - len(head) - len(tail)) + tail


def format_truncated(
    text: str,
    policy: TruncationPolicy,
    *,
    original_bytes: int | None = None,
    omitted_bytes: int = 0,
) -> str:
    """Return ``text`` as the model sees a command's output: under a header if it was cut.

    Args:
        text: The output, as `Captured.text` has it.
        policy: What fits.
        original_bytes: The size of the output before anything was lost, for the header's token
            count; the size of the text when not given.
        omitted_bytes: How much of it the buffer has dropped, `Captured.omitted`. The header then
            says that instead of a number of lines, which nobody knows any more.
    """
    shortened = truncate_middle(text, policy)
    if shortened is text:
        return text
    tokens = tokens_of_bytes(_utf8_size(text) if original_bytes is None else original_bytes)
    extent = _omission(omitted_bytes) if omitted_bytes else f"Total output lines: {_lines(text)}"
    return f"Warning: truncated output (original token count: {tokens})\n{extent}\n\n{shortened}"


class Captured(NamedTuple):
    """What a process wrote since it was last asked."""

    text: str
    """Decoded as UTF-8, U+FFFD for what is none; the place of a lost middle is marked."""
    size: int
    """Bytes that the process wrote for it."""
    omitted: int
    """Bytes of these that the text lacks."""


@final
@attrs.define(eq=False)
class HeadTail:
    """A bounded buffer for a stream of any length: the first half and the last half of its cap.

    Adding costs amortised constant time per byte and the buffer never holds more than one and a
    half caps, so a process may write for hours between two readings.
    """

    cap: int = attrs.field(default=HEAD_TAIL_BYTES, validator=attrs.validators.ge(16))
    """Bytes."""
    _head: bytearray = attrs.field(factory=bytearray, init=False)
    _tail: bytearray = attrs.field(factory=bytearray, init=False)
    _size: int = attrs.field(default=0, init=False)

    def append(self, data: bytes) -> None:
        """Take what the process wrote next."""
        self._size += len(data)
        room = self.cap // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        keep = self._keep
        self._tail += data[-keep:]
        if len(self._tail) >= 2 * keep:
            del self._tail[:-keep]

    def take(self, *, final: bool = False) -> Captured:
        """Return what came since the last call, and forget it.

        A code point that is not complete yet stays for the next call, unless ``final`` says that
        nothing will follow.
        """
        tail = self._tail[-self._keep :]
        omitted = self._size - len(self._head) - len(tail)
        end = tail if omitted else self._head[-3:] + tail
        unfinished = b"" if final else _unfinished(end)
        size = self._size - len(unfinished)
        captured = self._captured(self._head, tail, omitted, len(unfinished), size)
        self._head, self._tail = bytearray(unfinished), bytearray()
        self._size = len(unfinished)
        return captured

    @property
    def _keep(self) -> int:
        return self.cap - self.cap // 2

    def _captured(
        self, head: bytearray, tail: bytearray, omitted: int, unfinished: int, size: int
    ) -> Captured:
        if not omitted:
            whole = head + tail
            text = whole[: len(whole) - unfinished].decode("utf-8", "replace")
            return Captured(text, size, 0)
        cut_before, cut_after = len(_unfinished(head)), _continuation(tail)
        omitted += cut_before + cut_after
        first = head[: len(head) - cut_before].decode("utf-8", "replace")
        last = tail[cut_after : len(tail) - unfinished].decode("utf-8", "replace")
        return Captured(f"{first}\n{_omission(omitted)}\n{last}", size, omitted)


def _omission(count: int) -> str:
    return f"... {count} bytes omitted ..."


def _marker(policy: TruncationPolicy, size: int, removed_chars: int) -> str:
    if policy.mode == "bytes":
        return f"…{removed_chars} chars truncated…"
    return f"…{tokens_of_bytes(size - policy.max_bytes)} tokens truncated…"


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _first_bytes(text: str, limit: int) -> str:
    """Return the longest prefix of at most ``limit`` bytes."""
    encoded = text[:limit].encode("utf-8", "surrogatepass")
    return _whole(encoded[:limit])


def _last_bytes(text: str, limit: int) -> str:
    """Return the longest suffix of at most ``limit`` bytes."""
    if not limit:
        return ""
    encoded = text[-limit:].encode("utf-8", "surrogatepass")[-limit:]
    return encoded[_continuation(encoded) :].decode("utf-8", "surrogatepass")


def _whole(encoded: bytes) -> str:
    cut = len(_unfinished(encoded))
    return encoded[: len(encoded) - cut].decode("utf-8", "surrogatepass")


def _unfinished(data: bytes | bytearray) -> bytes:
    """Return the code point that ``data`` ends in the middle of, or nothing."""
    for length in range(1, min(3, len(data)) + 1):
        byte = data[-length]
        if byte < 0x80:
            return b""
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return bytes(data[-length:]) if length < needed else b""
    return b""


def _continuation(data: bytes | bytearray) -> int:
    """Return how many bytes at the start of ``data`` belong to a code point before it."""
    count = 0
    while count < min(3, len(data)) and 0x80 <= data[count] < 0xC0:
        count += 1
    return count
