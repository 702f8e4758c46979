"""Who is asked what, what follows from the answers, and what the model is told: as on Codex.

The same conversations are played on the other program's app server and on agents of ours. What
was seen is kept beside the tests, so that ours is held to it where the other program is not at
hand. Set ``CODEX`` to the path of a Codex binary to see whether that still is what it does.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from codex_actors.sandbox import find_sandboxes
from tests.conformance.approval_cases import CASES
from tests.conformance.approval_record import Recorded, a_place, read_record
from tests.conformance.approval_sides import play_ours, play_theirs
from tests.integration.support import ROOT

CODEX = os.environ.get("CODEX", "")
RECORD = read_record()
each = pytest.mark.parametrize("name", CASES)


@cache
def listed() -> frozenset[str]:
    """What the page of differences has in its first columns."""
    page = (ROOT / "docs/explanation/differences.md").read_text("utf-8")
    return frozenset(line.split("|")[1].strip() for line in page.splitlines() if "|" in line)


@each
async def test_what_ours_does(name: str, tmp_path: Path) -> None:
    if CASES[name].confines and not find_sandboxes():
        pytest.skip("no sandbox works on this machine")

    assert RECORD[name].ours == await play_ours(CASES[name], tmp_path)


@pytest.mark.skipif(not CODEX, reason="CODEX does not name a Codex binary")
@each
async def test_what_the_other_program_does(name: str) -> None:
    with a_place() as place:
        assert RECORD[name].theirs == await play_theirs(CODEX, CASES[name], place)


@each
def test_what_differs_is_listed(name: str) -> None:
    case, seen = CASES[name], RECORD[name]

    assert bool(case.differs) == (seen.theirs != seen.ours)
    assert set(case.differs) <= listed()


def test_every_case_was_recorded_and_shows_something() -> None:
    assert list(CASES) == list(RECORD)
    assert not [name for name, seen in RECORD.items() if Recorded([], []) == seen]
