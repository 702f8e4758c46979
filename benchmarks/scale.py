"""Measure trees of ten thousand agents, and print the table: ``make bench-scale``.

Each number comes from a process of its own (`population.py`), one after another.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Final, final

import attrs

from benchmarks.samples import aligned

Numbers = Mapping[str, float]

AIMS: Final = {
    "spawns": "over 1,000",
    "rss": "under 50",
    "traced": "under 50",
    "files": "none per agent",
    "interrupt": "under 2",
    "close": "a few",
}


@final
@attrs.frozen
class Line:
    """One line of the table."""

    name: str
    unit: str
    key: str
    show: Callable[[float], str]


LINES: Final = (
    Line("spawn", "agents/s", "spawns", lambda rate: f"{rate:,.0f}"),
    Line("… of CPU, all threads", "ms/agent", "spawn_cpu", lambda cpu: f"{1000 * cpu:.2f}"),
    Line("spawn, task, its end", "agents/s", "turns", lambda rate: f"{rate:,.0f}"),
    Line("… of CPU, all threads", "ms/agent", "turn_cpu", lambda cpu: f"{1000 * cpu:.2f}"),
    Line("an idle agent, resident", "kB", "rss", lambda size: f"{size / 1000:.1f}"),
    Line("an idle agent, Python's part", "kB", "traced", lambda size: f"{size / 1000:.1f}"),
    Line("descriptors for all of them", "", "files", lambda count: f"{count:.0f}"),
    Line("interrupt, all turns running", "s", "interrupt", lambda seconds: f"{seconds:.2f}"),
    Line("… of CPU, all threads", "s", "interrupt_cpu", lambda seconds: f"{seconds:.2f}"),
    Line("close", "s", "close", lambda seconds: f"{seconds:.2f}"),
    Line("… of CPU, all threads", "s", "close_cpu", lambda seconds: f"{seconds:.2f}"),
)


def measure(shape: str, count: int) -> Numbers:
    """Measure everything of one shape of tree."""
    few = max(count // 5, 100)  # to make them costs as much each, and to trace them a lot more
    return {
        **_run("spawn", shape, few),
        **_run("hold", shape, few),
        **_run("live", shape, count),
    }


def _run(what: str, shape: str, count: int) -> Numbers:
    command = [sys.executable, "-m", "benchmarks.population", what, shape, str(count)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    numbers: Numbers = json.loads(done.stdout)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=10_000)
    count = parser.parse_args().agents
    deep = max(count // 10, 1)
    columns: dict[str, Numbers] = {
        f"100 with {count // 100 - 1} each": measure("tree", count),
        f"{count:,} under the root": measure("flat", count),
        f"a chain of {deep:,}": measure("chain", deep),
        "by one hand": _run("spawn", "one_by_one", max(count // 5, 100)),
    }
    lines = [("measured", "unit", *columns, "aim")]
    for line in LINES:
        cells = [line.show(c[line.key]) if line.key in c else "" for c in columns.values()]
        lines.append((line.name, line.unit, *cells, AIMS.get(line.key, "")))
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, thresholds of garbage")
    print("collection raised and gc.freeze() called, as entry points may\n")
    print(aligned(lines))


if __name__ == "__main__":
    main()
