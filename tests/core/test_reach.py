from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import UNCONFINED, Reach, ReachRule, is_below
from codex_actors.protocol import Access

PATHS = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map(lambda p: "/" + "/".join(p))
ACCESS: st.SearchStrategy[Access] = st.sampled_from(["read", "write", "deny"])
REACHES = st.builds(
    Reach,
    rules=st.lists(st.builds(ReachRule, PATHS, ACCESS), max_size=6),
    network=st.booleans(),
)
WIDTH = {"deny": 0, "read": 1, "write": 2}


def of(rules: dict[str, Access], *, network: bool = False) -> Reach:
    return Reach(rules=[ReachRule(*rule) for rule in rules.items()], network=network)


WORKSPACE = of(
    {"/": "read", "/tmp/w": "write", "/tmp/w/.git": "read", "/tmp/w/key": "deny", "/tmp": "write"}
)


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("/", "read"),
        ("/etc/passwd", "read"),
        ("/tmp", "write"),
        ("/tmpfile", "read"),
        ("/tmp/w/x/y", "write"),
        ("/tmp/w/.git", "read"),
        ("/tmp/w/.git/config", "read"),
        ("/tmp/w/.gitignore", "write"),
        ("/tmp/w/key/id", "deny"),
    ],
)
def test_the_nearest_rule_counts(path: str, access: Access) -> None:
    assert access == WORKSPACE.access(path)
    assert (access != "deny") == WORKSPACE.may_read(path)
    assert (access == "write") == WORKSPACE.may_write(path)


def test_of_two_rules_for_one_path_the_stronger_counts() -> None:
    rules: list[tuple[Access, Access, Access]] = [
        ("read", "write", "write"),
        ("write", "deny", "deny"),
        ("deny", "read", "deny"),
    ]
    for one, other, winner in rules:
        for pair in ((one, other), (other, one)):
            both = Reach(rules=[ReachRule("/a", access) for access in pair], network=False)

            assert (ReachRule("/a", winner),) == both.rules


def test_a_home_in_a_writable_folder_stays_unless_it_is_named() -> None:
    rules = [ReachRule("/", "read"), ReachRule("/work", "write"), ReachRule("/w2/home", "write")]
    reach = Reach(rules=[*rules, ReachRule("/work/home/a", "write")], network=False)
    kept = reach.keeping("/work/home")

    assert not kept.may_write("/work/home/rules/x")
    assert kept.may_write("/work/other")
    assert kept.may_write("/work/home/a")
    assert reach == reach.keeping("/w2/home") == reach.keeping("/elsewhere")
    assert UNCONFINED == UNCONFINED.keeping("/home")
    assert reach.includes(kept)


def test_what_no_rule_speaks_of_is_denied() -> None:
    assert of({"/usr": "read"}).access("/home") == "deny"


def test_parts() -> None:
    assert ("/tmp", "/tmp/w") == WORKSPACE.writable
    assert ("/tmp/w/.git",) == WORKSPACE.protected
    assert ("/tmp/w/key",) == WORKSPACE.denied
    assert not WORKSPACE.writes_everywhere
    assert not WORKSPACE.is_unconfined
    assert UNCONFINED.is_unconfined
    assert of({"/": "write"}).writes_everywhere
    assert not of({"/": "write"}).is_unconfined
    assert not of({"/": "write", "/a": "deny"}).writes_everywhere


@given(REACHES, PATHS)
def test_the_nearest_rule_counts_whatever_the_rules(reach: Reach, path: str) -> None:
    above = [rule for rule in reach.rules if is_below(path, rule.path)]
    nearest = max(above, key=lambda rule: len(rule.path), default=ReachRule("/", "deny"))

    assert nearest.access == reach.access(path)


@given(REACHES, REACHES, PATHS)
def test_a_wider_reach_denies_nothing_that_a_narrower_allows(
    wide: Reach, narrow: Reach, path: str
) -> None:
    if wide.includes(narrow):
        assert WIDTH[wide.access(path)] >= WIDTH[narrow.access(path)]
        assert wide.network >= narrow.network
    elif wide.network >= narrow.network:
        edges = {rule.path for rule in (*wide.rules, *narrow.rules)}
        assert any(WIDTH[wide.access(p)] < WIDTH[narrow.access(p)] for p in edges)


@given(REACHES)
def test_everything_includes_every_reach_and_each_itself(reach: Reach) -> None:
    assert UNCONFINED.includes(reach)
    assert reach.includes(reach)
