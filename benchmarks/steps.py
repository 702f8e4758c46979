"""What a step costs on a long history: nothing but what is sent."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs

from benchmarks.engine import Stopwatch, open_agent, provider, run_turn
from benchmarks.payloads import history
from benchmarks.raw import Pieces, Raw
from benchmarks.samples import Row, compare
from codex_actors import AgentHandle, ResponsesClient
from codex_actors.protocol import InjectItems

BLOCKS = 15
STEPS = 10
SHORT, LONG = 100, 10_000


@attrs.frozen
class _Block:
    """Medians of one block, in milliseconds."""

    step: float
    """From asking the model to its last event."""
    sent: float
    """The same bytes, sent by hand."""
    turn_cpu: float
    """CPU time of the whole turn around the step, all threads."""
    sent_cpu: float
    """CPU time of the same bytes, ready in memory and sent by hand."""
    joined_cpu: float
    """CPU time of the same bytes, joined and sent by hand."""


async def long_history(raw: Raw) -> list[Row]:
    """A step on a long history against its request, and against a step on a short one."""
    async with _filled(raw, SHORT) as short, _filled(raw, LONG) as long:
        pairs = [(await short.block(raw), await long.block(raw)) for _ in range(BLOCKS)]
    shorts, longs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return [
        compare(
            f"step on {LONG:,} items",
            "ms",
            [block.step for block in longs],
            [block.sent for block in longs],
            "at most 1.3",
        ),
        compare(
            f"CPU beside sending, {LONG:,} items to {SHORT}",
            "ms",
            [block.turn_cpu - block.sent_cpu for block in longs],
            [block.turn_cpu - block.sent_cpu for block in shorts],
            "",
        ),
        compare(
            f"CPU beside joining and sending, {LONG:,} items to {SHORT}",
            "ms",
            [block.turn_cpu - block.joined_cpu for block in longs],
            [block.turn_cpu - block.joined_cpu for block in shorts],
            "at most 1.2",
        ),
    ]


@attrs.frozen
class _Filled:
    """An agent with a history."""

    agent: AgentHandle
    watch: Stopwatch

    async def block(self, raw: Raw) -> _Block:
        """Measure steps in turns with their floors: what else the machine does meets both."""
        await raw.bodies()
        await run_turn(self.agent)
        pieces = Pieces.of((await raw.bodies())[0])
        body = pieces.join()
        gc.collect()
        rows = [await self._sample(raw, pieces, body) for _ in range(STEPS)]
        return _Block(*(1000 * statistics.median(column) for column in zip(*rows, strict=True)))

    async def _sample(
        self, raw: Raw, pieces: Pieces, body: bytes
    ) -> tuple[float, float, float, float, float]:
        began = time.process_time()
        await run_turn(self.agent)
        turn_cpu = time.process_time() - began
        began = time.process_time()
        sent = await raw.send("text", body)
        sent_cpu = time.process_time() - began
        began = time.process_time()
        await raw.send("text", pieces.join())
        return self.watch.seconds, sent, turn_cpu, sent_cpu, time.process_time() - began


@asynccontextmanager
async def _filled(raw: Raw, count: int) -> AsyncGenerator[_Filled, None]:
    source = provider(raw.base_url, "text")
    async with ResponsesClient(source) as client:
        watch = Stopwatch(client)
        async with open_agent(source, watch) as agent:
            await agent.submit(InjectItems(history(count)))
            await run_turn(agent)
            yield _Filled(agent, watch)
