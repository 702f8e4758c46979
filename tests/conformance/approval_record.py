"""What was seen of each case on both programs, kept beside the tests.

A file of lines: ``== name`` begins a case. A line of it was seen on both programs (a blank before
it), on the other one only (``-``), or on ours only (``+``). To write it anew, or some cases::

    CODEX=/path/to/codex python -m tests.conformance.approval_record [NAME...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import ndiff
from pathlib import Path
from pwd import getpwuid
from typing import Final

import attrs
import trio

from tests.conformance.approval_cases import CASES
from tests.conformance.approval_sides import play_ours, play_theirs

FILE: Final = Path(__file__).with_name("approvals.txt")


@attrs.frozen
class Recorded:
    """What was seen of a case."""

    theirs: list[str]
    ours: list[str]


def read_record() -> dict[str, Recorded]:
    record: dict[str, Recorded] = {}
    for line in FILE.read_text("utf-8").splitlines():
        mark, rest = line[:2], line[2:]
        if mark == "==":
            record[rest.strip()] = last = Recorded([], [])
            continue
        if mark != "+ ":
            last.theirs.append(rest)
        if mark != "- ":
            last.ours.append(rest)
    return record


@contextmanager
def a_place() -> Iterator[Path]:
    """A folder that is not below a temporary one: there the other program has no sandbox."""
    # Tests have a home of their own, below a temporary folder.
    cache = Path(getpwuid(os.getuid()).pw_dir, ".cache")
    cache.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        yield Path(folder)


def _spell(record: dict[str, Recorded]) -> Iterator[str]:
    for name, seen in record.items():
        yield f"== {name}"
        yield from (line for line in ndiff(seen.theirs, seen.ours) if not line.startswith("?"))


async def _play(codex: str, names: Sequence[str]) -> dict[str, Recorded]:
    record = read_record() if names else {}
    for name in names or CASES:
        case = CASES[name]
        with a_place() as place:
            theirs = await play_theirs(codex, case, place / "theirs")
            ours = await play_ours(case, place / "ours")
        record[name] = Recorded(theirs, ours)
    return {name: record[name] for name in CASES}


if __name__ == "__main__":
    played = trio.run(_play, os.environ["CODEX"], sys.argv[1:])
    FILE.write_text("\n".join([*_spell(played), ""]), "utf-8")
