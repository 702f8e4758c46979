from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.sandbox._family import Family
from codex_actors.sandbox._table import Identity, ProcessRow, Table, with_descendants

US = 1_000_000_000
"""No pid that the kernel gives; our own session is never one of these."""


def row(pid: int, parent: int = US, *, session: int | None = None, mark: str = "") -> ProcessRow:
    return ProcessRow(
        identity=Identity(pid, pid * 10),
        parent=parent,
        session=US + pid if session is None else session,
        state="S",
        marks=frozenset({mark} - {""}),
    )


def table(*rows: ProcessRow) -> dict[int, ProcessRow]:
    return {one.pid: one for one in rows}


def pids(family: Family, rows: Table) -> list[int]:
    return [member.pid for member in family.members(rows)]


@st.composite
def tables(draw: st.DrawFn) -> dict[int, ProcessRow]:
    """Forests: each process has a parent with a smaller pid, or none that is in the table."""
    marks = st.sampled_from(["", "", "mine", "mine.1", "mine.2", "mined", "other.1"])
    rows = []
    for pid in range(2, draw(st.integers(3, 30))):
        parent = draw(st.sampled_from([US, *range(2, pid)]))
        rows.append(row(pid, parent, mark=draw(marks)))
    return table(*rows)


@given(tables())
def test_a_family_is_all_that_is_marked_and_all_below(rows: dict[int, ProcessRow]) -> None:
    assert is_right(pids(Family("mine"), rows), rows)


def is_right(found: list[int], rows: Table) -> bool:
    marked = {pid for pid, one in rows.items() if one.marks & {"mine", "mine.1", "mine.2"}}
    return found == sorted(_below_one_by_one(rows, marked))


def _below_one_by_one(rows: Table, roots: set[int]) -> set[int]:
    found = set(roots)
    for pid in sorted(rows):
        if rows[pid].parent in found:
            found.add(pid)
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows: sorted(pid for pid, one in rows.items() if "mine" in one.marks),
        lambda rows: sorted(
            with_descendants(
                rows, {p for p, one in rows.items() if any(m[:4] == "mine" for m in one.marks)}
            )
        ),
    ],
    ids=["forgets descendants", "confuses mine with mined"],
)
def test_the_law_finds_planted_bugs(wrong: Callable[[Table], list[int]]) -> None:
    rows = table(row(2, mark="mine"), row(3, 2), row(4, mark="mined"), row(5, mark="mine.1"))

    assert is_right(pids(Family("mine"), rows), rows)
    assert not is_right(wrong(rows), rows)


@given(tables())
def test_looking_twice_finds_the_same(rows: dict[int, ProcessRow]) -> None:
    family = Family("mine")

    assert family.members(rows) == family.members(rows)


@given(tables())
def test_orphans_that_were_seen_stay_in_the_family(rows: dict[int, ProcessRow]) -> None:
    family = Family("mine")
    seen = family.members(rows)
    orphaned = table(*(attrs.evolve(one, parent=US, marks=frozenset[str]()) for one in seen))

    assert [one.pid for one in seen] == pids(family, orphaned)


def test_a_root_needs_no_marker_and_a_pid_is_not_a_root() -> None:
    family = Family("mine")
    family.add_root(Identity(2, 20))
    family.add_root(Identity(3, 31))

    assert pids(family, table(row(2), row(3), row(4, 2))) == [2, 4]


def test_a_session_brings_in_the_unmarked_only() -> None:
    family = Family("mine")
    family.members(table(row(2, mark="mine", session=7)))

    rows = table(row(3, session=7), row(4, session=7, mark="other"), row(5, session=8))
    assert pids(family, rows) == [3]


def test_a_session_is_forgotten_when_its_last_member_is_gone() -> None:
    family = Family("mine")
    family.members(table(row(2, mark="mine", session=7)))
    family.members({})

    assert pids(family, table(row(3, session=7))) == []
