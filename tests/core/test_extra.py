"""Laws of permissions beyond a policy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import (
    NO_EXTRA,
    PathPattern,
    Reach,
    ReachRule,
    add_extra,
    grant_within,
    lacks,
    widen,
)
from codex_actors.protocol import ExtraPermissions, PathPlace, PermissionEntry
from codex_actors.testing._permission_strategies import permissions

PATHS = ["/", "/a", "/a/b", "/a/b/c", "/d"]
reaches = st.builds(
    Reach,
    rules=st.lists(
        st.builds(ReachRule, st.sampled_from(PATHS), st.sampled_from(["read", "write", "deny"])),
        max_size=4,
    ),
    network=st.booleans(),
    patterns=st.sampled_from([(), (PathPattern("/a/*"),), (PathPattern("/**/c"),)]),
)


@given(reaches, reaches)
def test_widening_takes_nothing_away_and_opens_nothing_denied(reach: Reach, more: Reach) -> None:
    wider = widen(reach, more)

    assert wider.includes(reach)
    for path in PATHS:
        if reach.matches(path) or any(denied == path for denied in reach.denied):
            assert not wider.may_read(path)


@given(reaches, reaches)
def test_what_is_added_was_allowed_by_one_of_both(reach: Reach, more: Reach) -> None:
    wider = widen(reach, more)
    for path in PATHS:
        if wider.may_write(path):
            assert reach.may_write(path) or any(
                rule.access == "write" for rule in more.rules if path.startswith(rule.path)
            )


def test_what_is_protected_below_something_new_stays_protected() -> None:
    reach = Reach(rules=[ReachRule("/", "read")], network=False)
    more = Reach(rules=[ReachRule("/w", "write"), ReachRule("/w/.git", "read")], network=False)

    assert widen(reach, more).may_write("/w/a")
    assert not widen(reach, more).may_write("/w/.git/hooks")


@given(permissions(), permissions())
def test_no_more_is_granted_than_was_asked_for(
    wished: ExtraPermissions, given_: ExtraPermissions
) -> None:
    granted = grant_within(wished, given_)

    assert not lacks(wished, granted)
    assert not lacks(given_, granted)
    assert granted == grant_within(wished, granted)


@given(permissions(), permissions())
def test_both_have_what_each_has(first: ExtraPermissions, second: ExtraPermissions) -> None:
    both = add_extra(first, second)

    assert not lacks(both, first)
    assert not lacks(both, second)
    assert not lacks(first, add_extra(first, NO_EXTRA))


def test_a_parent_is_not_what_was_asked_for() -> None:
    wished, above = _writes("/a/b"), _writes("/")

    assert NO_EXTRA == grant_within(wished, above)
    assert _writes("/a/b/c") == grant_within(wished, _writes("/a/b/c"))


def test_to_write_a_place_is_to_read_it() -> None:
    read = ExtraPermissions(files=(PermissionEntry(place=PathPlace("/a"), access="read"),))

    assert not lacks(_writes("/a"), read)
    assert lacks(read, _writes("/a"))


def _writes(path: str) -> ExtraPermissions:
    return ExtraPermissions(files=(PermissionEntry(place=PathPlace(path), access="write"),))
