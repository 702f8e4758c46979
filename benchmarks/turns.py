"""What a turn costs above the requests it makes."""

from __future__ import annotations

import statistics
import time

import attrs

from benchmarks.disk import Disk, open_disk
from benchmarks.engine import open_agent, provider, run_turn
from benchmarks.raw import Raw
from benchmarks.samples import Row, compare

BLOCKS = 25
TURNS = 20
_WARM = 5


@attrs.frozen
class _Block:
    """Medians of one block, in milliseconds."""

    turn: float
    requests: float
    """The turn's requests, sent by hand."""
    disk: float
    """What the turn has to ask of the disk, done by hand."""


async def plain_turn(raw: Raw) -> list[Row]:
    """A turn of one request, against that request, and against that and the disk."""
    blocks = await _measure(raw, "text", requests=1)
    turns = [block.turn for block in blocks]
    asked = [block.requests for block in blocks]
    written = [block.requests + block.disk for block in blocks]
    return [
        compare("plain turn", "ms", turns, asked, "at most 2.5, better 1.5"),
        compare("plain turn, to request and disk", "ms", turns, written, ""),
    ]


async def tool_turn(raw: Raw) -> Row:
    """A turn with one call of a tool, against its two requests."""
    blocks = await _measure(raw, "tool", requests=2)
    return compare(
        "turn with a tool call",
        "ms",
        [block.turn for block in blocks],
        [block.requests for block in blocks],
        "",
    )


async def _measure(raw: Raw, path: str, *, requests: int) -> list[_Block]:
    blocks = []
    with open_disk() as disk:
        for _ in range(BLOCKS):
            await raw.bodies()
            turn = await _engine_block(raw.base_url, path)
            bodies = await raw.bodies()
            assert len(bodies) == requests * (_WARM + TURNS)
            asked = await _raw_block(raw, path, bodies, requests)
            blocks.append(_Block(turn, asked, await _disk_block(disk)))
    return blocks


async def _engine_block(base_url: str, path: str) -> float:
    seconds = []
    async with open_agent(provider(base_url, path)) as agent:
        for _ in range(_WARM + TURNS):
            began = time.perf_counter()
            await run_turn(agent)
            seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds[_WARM:])


async def _raw_block(raw: Raw, path: str, bodies: list[bytes], requests: int) -> float:
    """Send the same requests in the same order."""
    seconds = [await raw.send(path, body) for body in bodies]
    turns = [sum(seconds[at : at + requests]) for at in range(0, len(seconds), requests)]
    return 1000 * statistics.median(turns[_WARM:])


async def _disk_block(disk: Disk) -> float:
    return 1000 * statistics.median([await disk.turn() for _ in range(TURNS)])
