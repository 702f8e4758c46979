"""What a turn costs above the requests it makes."""

from __future__ import annotations

import statistics
import time

from benchmarks.engine import open_agent, provider, run_turn
from benchmarks.raw import Raw
from benchmarks.samples import Row, compare

BLOCKS = 25
TURNS = 20
_WARM = 5


async def plain_turn(raw: Raw) -> Row:
    """A turn of one request, against that request."""
    ours, floor = await _measure(raw, "text", requests=1)
    return compare("plain turn", "ms", ours, floor, "at most 2.5, better 1.5")


async def tool_turn(raw: Raw) -> Row:
    """A turn with one call of a tool, against its two requests."""
    ours, floor = await _measure(raw, "tool", requests=2)
    return compare("turn with a tool call", "ms", ours, floor, "")


async def _measure(raw: Raw, path: str, *, requests: int) -> tuple[list[float], list[float]]:
    ours, floor = [], []
    for _ in range(BLOCKS):
        await raw.bodies()
        ours.append(await _engine_block(raw.base_url, path))
        bodies = await raw.bodies()
        assert len(bodies) == requests * (_WARM + TURNS)
        floor.append(await _raw_block(raw, path, bodies, requests))
    return ours, floor


async def _engine_block(base_url: str, path: str) -> float:
    """Milliseconds of the median turn."""
    seconds = []
    async with open_agent(provider(base_url, path)) as agent:
        for _ in range(_WARM + TURNS):
            began = time.perf_counter()
            await run_turn(agent)
            seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds[_WARM:])


async def _raw_block(raw: Raw, path: str, bodies: list[bytes], requests: int) -> float:
    """Milliseconds of the median of the same requests, in the same order."""
    seconds = [await raw.send(path, body) for body in bodies]
    turns = [sum(seconds[at : at + requests]) for at in range(0, len(seconds), requests)]
    return 1000 * statistics.median(turns[_WARM:])
