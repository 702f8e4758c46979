"""On which line of a TOML document a key stands. `tomllib` does not tell.

The document is cut into statements: lines are added to a statement until `tomllib` takes it
for a whole one. So its own grammar decides where values over several lines end.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from ._layers import Path

_CLOSING = ('"""', "'''", "]", "}")


def find_lines(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key and each table was first given.

    Args:
        text: A document that `tomllib` accepts.
    """
    found: dict[Path, int] = {}
    table: Path = ()
    for number, statement, values in _statements(text):
        is_header = statement.lstrip().startswith("[")
        above = () if is_header else table
        for path in _paths(values):
            found.setdefault((*above, *path), number)
            table = path if is_header else table
    return found


def _statements(text: str) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Each statement, the line it begins on, and what it says taken alone."""
    lines: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        lines.append(line)
        # Trying at each line of a long value would take the square of its length.
        if len(lines) > 1 and not any(mark in line for mark in _CLOSING):
            continue
        statement = "\n".join(lines)
        try:
            values = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        yield number - len(lines) + 1, statement, values
        lines.clear()


def _paths(values: Mapping[str, Any]) -> Iterator[Path]:
    """Every key in ``values`` with those it stands below, outer ones first."""
    pending: list[tuple[Path, Any]] = [((), values)]
    while pending:
        path, value = pending.pop()
        if path:
            yield path
        match value:
            case Mapping():
                pending += [((*path, key), below) for key, below in value.items()]
            case _:
                pass
