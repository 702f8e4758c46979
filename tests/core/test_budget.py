from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core._budget import over_limit, over_turns
from codex_actors.protocol import ROOT, AgentPath, Limits, Spent

A = ROOT.child("a")
NUMBERS = st.integers(1, 20)
LIMITS = st.builds(
    Limits,
    turns=st.none() | NUMBERS,
    tokens=st.none() | NUMBERS,
    seconds=st.none() | st.floats(0.5, 20),
)
SPENT = st.builds(
    Spent, turns=st.integers(0, 25), tokens=st.integers(0, 25), seconds=st.floats(0, 25)
)
Over = Callable[[Limits, Spent, AgentPath], str | None]


@pytest.mark.parametrize(
    ("limits", "spent", "words"),
    [
        (Limits(), Spent(turns=10**9, tokens=10**9, seconds=1e9), None),
        (Limits(tokens=1000), Spent(tokens=999), None),
        (Limits(tokens=1000), Spent(tokens=1000), "tokens of /root/a: 1000 of 1000 used"),
        (Limits(tokens=1000), Spent(tokens=31_002), "tokens of /root/a: 31002 of 1000 used"),
        (Limits(seconds=60), Spent(seconds=59.9), None),
        (Limits(seconds=60), Spent(seconds=60.25), "seconds of /root/a: 60.25 of 60 used"),
        (Limits(seconds=0.5), Spent(seconds=100.0), "seconds of /root/a: 100 of 0.5 used"),
        (
            Limits(tokens=1, seconds=1),
            Spent(tokens=1, seconds=1.0),
            "tokens of /root/a: 1 of 1 used",
        ),
        (Limits(turns=1), Spent(turns=7), None),
    ],
)
def test_what_ends_a_turn(limits: Limits, spent: Spent, words: str | None) -> None:
    assert words == over_limit(limits, spent, A)


@pytest.mark.parametrize(
    ("limits", "spent", "words"),
    [
        (Limits(), Spent(turns=10**9), None),
        (Limits(turns=3), Spent(turns=2), None),
        (Limits(turns=3), Spent(turns=3), "turns of /root: 3 of 3 used"),
        (Limits(tokens=1, seconds=1), Spent(tokens=5, seconds=5.0), None),
    ],
)
def test_what_keeps_a_turn_from_beginning(limits: Limits, spent: Spent, words: str | None) -> None:
    assert words == over_turns(limits, spent, ROOT)


@given(LIMITS, SPENT)
def test_a_turn_is_not_ended_by_its_own_start(limits: Limits, spent: Spent) -> None:
    begun = attrs.evolve(spent, turns=spent.turns + 1)

    assert over_limit(limits, spent, A) == over_limit(limits, begun, A)


def check_using_more(over: Over, limits: Limits, spent: Spent, more: Spent) -> None:
    """What is reached stays reached, and what is not has something left."""
    later = Spent(
        turns=spent.turns + more.turns,
        tokens=spent.tokens + more.tokens,
        seconds=spent.seconds + more.seconds,
    )

    if over(limits, spent, A) is not None:
        assert over(limits, later, A) is not None
    else:
        pairs = [(limits.tokens, spent.tokens), (limits.seconds, spent.seconds)]
        assert all(limit is None or used < limit for limit, used in pairs)


@given(LIMITS, SPENT, SPENT)
def test_using_more(limits: Limits, spent: Spent, more: Spent) -> None:
    check_using_more(over_limit, limits, spent, more)


@given(LIMITS, SPENT)
def test_without_limits_all_goes(limits: Limits, spent: Spent) -> None:
    assert over_limit(attrs.evolve(limits, tokens=None, seconds=None), spent, A) is None
    assert over_turns(attrs.evolve(limits, turns=None), spent, A) is None


def one_too_late(limits: Limits, spent: Spent, path: AgentPath) -> str | None:
    spared = attrs.evolve(spent, tokens=spent.tokens - 1)
    return over_limit(limits, spared, path)


def only_when_met(limits: Limits, spent: Spent, path: AgentPath) -> str | None:
    return (
        "met"
        if limits.tokens == spent.tokens
        else over_limit(attrs.evolve(limits, tokens=None), spent, path)
    )


def forgets_the_time(limits: Limits, spent: Spent, path: AgentPath) -> str | None:
    return over_limit(attrs.evolve(limits, seconds=None), spent, path)


@pytest.mark.parametrize("bug", [one_too_late, only_when_met, forgets_the_time])
def test_planted_bugs_are_found(bug: Over) -> None:
    def is_caught(case: tuple[Limits, Spent, Spent]) -> bool:
        try:
            check_using_more(bug, *case)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=2000, database=None, deadline=None, phases=[Phase.generate])
    find(st.tuples(LIMITS, SPENT, SPENT), is_caught, settings=search)
