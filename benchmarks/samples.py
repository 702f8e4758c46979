"""What was measured: blocks of repeats, and rows of the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import final

import attrs


@final
@attrs.frozen
class Spread:
    """The median of blocks, and the best and the worst of them."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.least)}–{_short(self.most)})"


def spread(blocks: Sequence[float]) -> Spread:
    """Summarise one number per block."""
    return Spread(statistics.median(blocks), min(blocks), max(blocks))


@final
@attrs.frozen(kw_only=True)
class Row:
    """One comparison of the engine with its floor."""

    name: str
    unit: str
    ours: Spread
    floor: Spread
    ratio: Spread
    """Of each block by the floor's block beside it."""
    aim: str


def compare(name: str, unit: str, ours: Sequence[float], floor: Sequence[float], aim: str) -> Row:
    """Compare blocks that were measured in turns."""
    ratios = [mine / other for mine, other in zip(ours, floor, strict=True)]
    return Row(
        name=name,
        unit=unit,
        ours=spread(ours),
        floor=spread(floor),
        ratio=spread(ratios),
        aim=aim,
    )


def table(rows: Sequence[Row], floor: str = "floor") -> str:
    """The rows as a table of plain text, which is Markdown too."""
    lines = [("measured", "unit", "engine", floor, "ratio", "aim")]
    lines += [
        (row.name, row.unit, str(row.ours), str(row.floor), str(row.ratio), row.aim) for row in rows
    ]
    return aligned(lines)


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Lines of cells, the headings first, as a table of plain text, which is Markdown too."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = tuple("-" * width for width in widths)
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in (lines[0], rule, *lines[1:])
    )


def _short(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 10 else f"{value:.1f}"
