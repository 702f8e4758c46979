from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from codex_actors.core import (
    UNCONFINED,
    Confinement,
    Confiner,
    PathPattern,
    Reach,
    ReachRule,
    is_within,
)
from codex_actors.protocol import Access

FULL = Confinement(by="nobody", reach=UNCONFINED)
PATHS = st.lists(st.sampled_from(["a", "b", "x.env"]), max_size=3).map(lambda p: "/" + "/".join(p))
ACCESS: st.SearchStrategy[Access] = st.sampled_from(["read", "write", "deny"])
PATTERNS = st.sampled_from([PathPattern("/**/*.env"), PathPattern("/a/*.env")])
REACHES = st.builds(
    Reach,
    rules=st.lists(st.builds(ReachRule, PATHS, ACCESS), max_size=5),
    network=st.booleans(),
    patterns=st.lists(PATTERNS, max_size=2, unique=True).map(tuple),
)
CONFINEMENTS = st.one_of(
    st.just(FULL),
    st.builds(Confinement, by=st.just("us"), reach=REACHES),
    st.booleans().map(lambda on: outside(network=on)),
)
WIDTH = {"deny": 0, "read": 1, "write": 2}
FREEDOM: tuple[Confiner, ...] = ("us", "somebody else", "nobody")
Within = Callable[[Confinement, Confinement], bool]


def outside(*, network: bool) -> Confinement:
    return Confinement(by="somebody else", reach=attrs.evolve(UNCONFINED, network=network))


def ours(rules: dict[str, Access], *patterns: str, network: bool = False) -> Confinement:
    reach = Reach(
        rules=[ReachRule(*rule) for rule in rules.items()],
        network=network,
        patterns=tuple(map(PathPattern, patterns)),
    )
    return Confinement(by="us", reach=reach)


READ = ours({"/": "read"})
WORK = ours({"/": "read", "/w": "write", "/w/.git": "read"})


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (READ, ours({"/": "read"}, network=True)),
        (READ, WORK),
        (ours({"/": "read", "/w/sub": "write"}), WORK),
        (ours({"/w": "read"}), READ),
        (ours({"/": "read"}, "/**/*.env"), READ),
        (ours({"/": "read"}, "/**/*.env", "/x/*"), ours({"/": "read"}, "/**/*.env")),
        (ours({"/": "read", "/w/key": "deny"}), READ),
        (WORK, outside(network=False)),
        (outside(network=False), outside(network=True)),
        (outside(network=True), FULL),
    ],
)
def test_narrow_and_wide(narrow: Confinement, wide: Confinement) -> None:
    assert is_within(narrow, wide)
    assert not is_within(wide, narrow)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ours({"/": "read"}, network=True), WORK),
        (ours({"/": "write"}, network=True), outside(network=False)),
        (ours({"/": "read", "/a": "write"}), ours({"/": "read", "/b": "write"})),
        (
            ours({"/": "read", "/w": "write"}, "/w/*.pem"),
            ours({"/": "read", "/w": "write"}, "/w/a"),
        ),
        (ours({"/": "read", "/w/.git": "write"}), WORK),
    ],
)
def test_what_differs_both_ways(one: Confinement, other: Confinement) -> None:
    assert not is_within(one, other)
    assert not is_within(other, one)


def check_within(within: Within, inner: Confinement, outer: Confinement, path: str) -> None:
    """What is within another is denied whatever that one is."""
    if within(inner, outer):
        assert FREEDOM.index(inner.by) <= FREEDOM.index(outer.by)
        assert WIDTH[inner.reach.access(path)] <= WIDTH[outer.reach.access(path)]
        assert inner.reach.network <= outer.reach.network


@given(CONFINEMENTS, CONFINEMENTS, PATHS)
def test_a_wider_policy_never_denies_what_a_narrower_allows(
    inner: Confinement, outer: Confinement, path: str
) -> None:
    check_within(is_within, inner, outer, path)


@given(REACHES, REACHES, PATHS)
def test_what_both_allow_is_within_both(one: Reach, other: Reach, path: str) -> None:
    both = one.narrowed_by(other)

    assert one.includes(both)
    assert other.includes(both)
    narrower = min(one.access(path), other.access(path), key=WIDTH.__getitem__)
    assert narrower == both.access(path)
    assert both.network == (one.network and other.network)


@given(CONFINEMENTS)
def test_everything_is_within_itself_and_below_full_access(one: Confinement) -> None:
    assert is_within(one, one)
    assert is_within(one, FULL)
    assert is_within(FULL, one) == (one == FULL)


@given(CONFINEMENTS, CONFINEMENTS, CONFINEMENTS)
def test_what_is_within_the_inner_is_within_the_outer(
    a: Confinement, b: Confinement, c: Confinement
) -> None:
    assert is_within(a, c) or not (is_within(a, b) and is_within(b, c))


def looks_at_the_confiner_alone(inner: Confinement, outer: Confinement) -> bool:
    return FREEDOM.index(inner.by) <= FREEDOM.index(outer.by)


def forgets_patterns(inner: Confinement, outer: Confinement) -> bool:
    plain = (attrs.evolve(c, reach=attrs.evolve(c.reach, patterns=())) for c in (inner, outer))
    return is_within(*plain)


def counts_rules(inner: Confinement, outer: Confinement) -> bool:
    return len(inner.reach.rules) <= len(outer.reach.rules) and is_within(
        attrs.evolve(inner, reach=attrs.evolve(inner.reach, rules=())), outer
    )


@pytest.mark.parametrize("bug", [looks_at_the_confiner_alone, forgets_patterns, counts_rules])
def test_planted_bugs_are_found(bug: Within) -> None:
    def is_caught(case: tuple[Confinement, Confinement, str]) -> bool:
        try:
            check_within(bug, *case)
        except AssertionError:
            return True
        return False

    search = settings(max_examples=5000, database=None, deadline=None, phases=[Phase.generate])
    find(st.tuples(CONFINEMENTS, CONFINEMENTS, PATHS), is_caught, settings=search)
