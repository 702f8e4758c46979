from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain, combinations, permutations

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core._waits import Wait, find_ring, find_stuck

Waits = Mapping[str, Collection[str]]
Find = Callable[[Waits, str], tuple[str, ...] | None]
AGENTS = "abcde"
EDGES = st.sets(st.tuples(st.sampled_from(AGENTS), st.sampled_from(AGENTS)), max_size=9)


def waits_of(edges: Iterable[tuple[str, str]]) -> Waits:
    waits: dict[str, set[str]] = {}
    for agent, other in edges:
        waits.setdefault(agent, set()).add(other)
    return waits


@pytest.mark.parametrize(
    ("waits", "ring"),
    [
        ({}, None),
        ({"a": ["b"]}, None),
        ({"a": ["a"]}, ("a",)),
        ({"a": ["b"], "b": ["a"]}, ("a", "b")),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, None),
        ({"a": ["b", "c"], "b": ["d"], "c": ["a"], "d": ["a"]}, ("a", "c")),
        ({"a": ["c", "b"], "b": ["d"], "c": ["d"], "d": ["a"]}, ("a", "b", "d")),
    ],
)
def test_rings(waits: Waits, ring: tuple[str, ...] | None) -> None:
    assert ring == find_ring(waits, "a")


def every_ring(waits: Waits, start: str) -> list[tuple[str, ...]]:
    others = [agent for agent in AGENTS if agent != start]
    rings = [(start, *some) for n in range(len(AGENTS)) for some in permutations(others, n)]
    return [
        ring
        for ring in rings
        if all(b in waits.get(a, ()) for a, b in zip(ring, (*ring[1:], start), strict=True))
    ]


def check_ring(find_it: Find, edges: set[tuple[str, str]], start: str) -> None:
    waits = waits_of(edges)
    rings = every_ring(waits, start)

    assert min(rings, key=lambda ring: (len(ring), ring), default=None) == find_it(waits, start)


@given(EDGES, st.sampled_from(AGENTS))
def test_the_ring_is_the_shortest_and_first(edges: set[tuple[str, str]], start: str) -> None:
    check_ring(find_ring, edges, start)


@given(EDGES, st.sampled_from(AGENTS), st.sampled_from(AGENTS), st.sampled_from(AGENTS))
def test_one_more_wait_never_removes_a_ring(
    edges: set[tuple[str, str]], start: str, agent: str, other: str
) -> None:
    before = find_ring(waits_of(edges), start)
    after = find_ring(waits_of(edges | {(agent, other)}), start)

    assert before is None or (after is not None and len(after) <= len(before))


@given(EDGES, st.sampled_from(AGENTS))
def test_waiting_down_the_alphabet_makes_no_ring(edges: set[tuple[str, str]], start: str) -> None:
    assert find_ring(waits_of((a, b) for a, b in edges if a < b), start) is None


@given(st.permutations(sorted("abcd")), st.permutations(sorted("bcd")))
def test_the_order_of_what_is_known_does_not_matter(agents: list[str], others: list[str]) -> None:
    waits = {agent: ["a"] if agent != "a" else others for agent in agents}

    assert find_ring(waits, "a") == ("a", "b")


def only_looks_at_the_neighbours(waits: Waits, start: str) -> tuple[str, ...] | None:
    mutual = [o for o in sorted(waits.get(start, ())) if start in waits.get(o, ())]
    return (start, mutual[0]) if mutual and mutual[0] != start else None


def takes_any_ring_for_its_own(waits: Waits, start: str) -> tuple[str, ...] | None:
    rings = (find_ring(waits, agent) for agent in sorted({start, *waits.get(start, ())}))
    return next((ring for ring in rings if ring), None)


def takes_the_first_that_it_finds(waits: Waits, start: str) -> tuple[str, ...] | None:
    def look(way: tuple[str, ...]) -> tuple[str, ...] | None:
        for other in sorted(waits.get(way[-1], ())):
            if other == start:
                return way
            if other not in way and (ring := look((*way, other))):
                return ring
        return None

    return look((start,))


@pytest.mark.parametrize(
    "bug",
    [only_looks_at_the_neighbours, takes_any_ring_for_its_own, takes_the_first_that_it_finds],
)
def test_planted_bugs_are_found(bug: Find) -> None:
    def is_caught(case: tuple[set[tuple[str, str]], str]) -> bool:
        try:
            check_ring(bug, *case)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=2000, database=None, deadline=None, phases=[Phase.generate])
    find(st.tuples(EDGES, st.sampled_from(AGENTS)), is_caught, settings=search)


NAMES = st.lists(st.sampled_from(AGENTS), max_size=3).map(tuple)
ALL_WAITS = st.dictionaries(
    st.sampled_from(AGENTS), st.lists(st.builds(Wait, NAMES, st.booleans()), max_size=2)
)


@pytest.mark.parametrize(
    ("waits", "stuck"),
    [
        ({}, ""),
        ({"a": [Wait(("a",), every=True)]}, "a"),
        ({"a": [Wait(("a",), every=False)]}, "a"),
        ({"a": [Wait((), every=False)], "b": [Wait((), every=True)]}, ""),
        ({"a": [Wait(("b", "c"), every=True)], "b": [Wait(("a",), every=True)]}, "ab"),
        ({"a": [Wait(("b", "c"), every=False)], "b": [Wait(("a",), every=True)]}, ""),
        (
            {
                "a": [Wait(("b", "c"), every=False)],
                "b": [Wait(("a",), every=True)],
                "c": [Wait(("a", "d"), every=True)],
            },
            "abc",
        ),
    ],
)
def test_who_is_stuck(waits: Mapping[str, list[Wait]], stuck: str) -> None:
    assert frozenset(stuck) == find_stuck(waits)


def holds_itself_up(some: Collection[str], waits: Mapping[str, list[Wait]]) -> bool:
    def is_held(wait: Wait) -> bool:
        held = [target in some for target in wait.targets]
        return any(held) if wait.every else bool(held) and all(held)

    return all(any(map(is_held, waits[agent])) for agent in some)


@given(ALL_WAITS)
def test_the_stuck_are_all_those_that_hold_each_other_up(waits: dict[str, list[Wait]]) -> None:
    sets = chain.from_iterable(combinations(waits, n) for n in range(len(waits) + 1))
    every = frozenset(chain.from_iterable(some for some in sets if holds_itself_up(some, waits)))

    assert every == find_stuck(waits)


def test_a_long_chain_is_looked_through_once() -> None:
    """Going through all agents for each that goes on would take half an hour."""
    chain = {str(n): [Wait((str(n + 1),), every=True)] for n in range(50_000)}

    assert frozenset() == find_stuck(chain)
    assert frozenset(chain) == find_stuck({**chain, "50000": [Wait(("0",), every=False)]}) - {
        "50000"
    }
