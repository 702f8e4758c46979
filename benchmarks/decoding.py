"""From the bytes of a stream to typed events, without a network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import starmap

import attrs
import msgspec

from benchmarks.payloads import delta
from benchmarks.samples import Row, compare
from codex_actors.core._responses import ResponseReader
from codex_actors.core._sse import SseDecoder
from codex_actors.wire._responses import decode_payload

BLOCKS = 7
EVENTS = 32_000


@attrs.frozen
class _Delta:
    type: str
    delta: str
    item_id: str = ""


def decoding() -> list[Row]:
    """One row for each size of chunk."""
    return [_row(1), _row(16)]


def _row(per_chunk: int) -> Row:
    events = list(map(delta, range(EVENTS)))
    chunks = [b"".join(events[at : at + per_chunk]) for at in range(0, EVENTS, per_chunk)]
    ours, floor = [], []
    for _ in range(BLOCKS):
        ours.append(_rate(_decode, chunks))
        floor.append(_rate(_decode_bare, chunks))
    return compare(
        f"stream to events, {per_chunk} per chunk", "events/s", ours, floor, "at least 0.7"
    )


def _rate(decode: Callable[[Iterable[bytes]], int], chunks: Iterable[bytes]) -> float:
    began = time.perf_counter()
    assert decode(chunks) == EVENTS
    return EVENTS / (time.perf_counter() - began)


def _decode(chunks: Iterable[bytes]) -> int:
    """As `codex_actors.models` does it: any server, any cut, any kind of event."""
    decoder, reader, count = SseDecoder(), ResponseReader(), 0
    for chunk in chunks:
        count += len(reader.receive(starmap(decode_payload, decoder.feed(chunk))))
    return count


def _decode_bare(chunks: Iterable[bytes]) -> int:
    """Blank lines are looked for, and all else is taken on trust."""
    decode, rest, count = msgspec.json.Decoder(_Delta).decode, b"", 0
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        count += len([decode(block[block.index(b"data: ") + 6 :]) for block in blocks])
    return count
