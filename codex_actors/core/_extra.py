"""Permissions beyond a policy, for a while. What is denied stays denied.

Held by tests/core/test_extra.py: a widened reach includes the one before, and denies what that one
denied by name; what is granted is within what was asked.
"""

from __future__ import annotations

import attrs

from ..protocol import ExtraPermissions, PathPlace, PermissionEntry
from ._reach import Reach, ReachRule, is_below


def widen(reach: Reach, more: Reach) -> Reach:
    """Return a reach that has both, but nothing of what the first denies by name."""
    kept = [rule for rule in more.rules if not _denies(reach, rule.path) and _adds(reach, rule)]
    return attrs.evolve(reach, rules=(*reach.rules, *kept), network=reach.network or more.network)


def _denies(reach: Reach, path: str) -> bool:
    named = any(is_below(path, denied) for denied in reach.denied)
    return reach.matches(path) or (named and reach.access(path) == "deny")


def _adds(reach: Reach, rule: ReachRule) -> bool:
    """Whether the rule takes nothing away; one that only allows reading may."""
    return rule.access == "write" or (rule.access == "read" and not reach.may_write(rule.path))


def grant_within(wished: ExtraPermissions, given: ExtraPermissions) -> ExtraPermissions:
    """Return what is given, as far as it was asked for."""
    return ExtraPermissions(
        network=wished.network and given.network,
        files=tuple(entry for entry in given.files if _was_wished(entry, wished.files)),
    )


def _was_wished(entry: PermissionEntry, wished: tuple[PermissionEntry, ...]) -> bool:
    return entry.access != "deny" and any(_covers(wish, entry) for wish in wished)


def _covers(wish: PermissionEntry, entry: PermissionEntry) -> bool:
    if wish.access not in ("write", entry.access):
        return False
    if isinstance(wish.place, PathPlace) and isinstance(entry.place, PathPlace):
        return is_below(entry.place.path, wish.place.path)
    return wish.place == entry.place


def add_extra(first: ExtraPermissions, second: ExtraPermissions) -> ExtraPermissions:
    """Return the permissions of both."""
    return ExtraPermissions(
        network=first.network or second.network,
        files=tuple(dict.fromkeys((*first.files, *second.files))),
    )


def lacks(held: ExtraPermissions, wished: ExtraPermissions) -> bool:
    """Return whether something is wished that is not held."""
    return wished.network > held.network or any(
        not _was_wished(entry, held.files) for entry in wished.files
    )
