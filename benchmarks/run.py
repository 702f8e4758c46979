"""Measure the engine against its floors, and print the table: ``make bench``."""

from __future__ import annotations

import os
import platform

import trio

from benchmarks.decoding import decoding
from benchmarks.raw import open_raw
from benchmarks.samples import Row, table
from benchmarks.sandbox import sandbox_costs
from benchmarks.server import open_server
from benchmarks.steps import long_history
from benchmarks.turns import plain_turn, tool_turn


async def measure() -> list[Row]:
    """Measure everything; about a minute."""
    with open_server() as base_url:
        async with open_raw(base_url) as raw:
            return [
                *await plain_turn(raw),
                await tool_turn(raw),
                *decoding(),
                *await long_history(raw),
                *await trio.to_thread.run_sync(sandbox_costs),
            ]


def main() -> None:
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; median (least–most)\n")
    print(table(trio.run(measure)))


if __name__ == "__main__":
    main()
