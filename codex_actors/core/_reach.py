"""How far a confined process reaches: which paths it may read and write, and the network.

A reach is a list of rules, each a path and what may be done there and below. Of the rules above a
path the nearest counts; of two for the same path, deny beats write beats read. Where no rule
stands above a path, nothing may be done with it.

Paths are absolute and normalised. Where links lead is settled before, by whoever looks at the
disk: `codex_actors.sandbox.resolve_reach`. Held by tests/core/test_reach.py: a reach that includes
another allows every path that the other allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

import attrs

from ..protocol import Access

# Of two rules for the same path the later one here counts.
_STRENGTH: Final[Mapping[Access, int]] = {"read": 0, "write": 1, "deny": 2}
# What each allows: the later one here allows more.
_WIDTH: Final[Mapping[Access, int]] = {"deny": 0, "read": 1, "write": 2}


@final
@attrs.frozen
class ReachRule:
    """What may be done with a path and all below it, as far as no nearer rule says otherwise."""

    path: str
    access: Access


def _settled(rules: Iterable[ReachRule]) -> tuple[ReachRule, ...]:
    """One rule per path, those for outer paths first."""
    strongest: dict[str, Access] = {}
    for rule in sorted(rules, key=lambda rule: _STRENGTH[rule.access]):
        strongest[rule.path] = rule.access
    return tuple(ReachRule(path, strongest[path]) for path in sorted(strongest, key=_parts))


@final
@attrs.frozen(kw_only=True)
class Reach:
    """What a process may touch."""

    rules: tuple[ReachRule, ...] = attrs.field(converter=_settled)
    """One for a path at most, outer paths before those below them."""
    network: bool
    """Whether it may talk to anything but its own machine's Unix sockets."""

    @property
    def is_unconfined(self) -> bool:
        """Whether there is nothing to enforce."""
        return self.rules == (ReachRule("/", "write"),) and self.network

    @property
    def writes_everywhere(self) -> bool:
        """Whether no path is kept from being written."""
        return self.access("/") == "write" and not self._paths("read", "deny")

    @property
    def writable(self) -> tuple[str, ...]:
        """The paths that may be written, with what is below them; outer ones first."""
        return self._paths("write")

    @property
    def protected(self) -> tuple[str, ...]:
        """The paths below a writable one that may only be read; some may not exist."""
        return tuple(
            path for path in self._paths("read") if path != "/" and self._above(path) == "write"
        )

    @property
    def denied(self) -> tuple[str, ...]:
        """The paths that may not even be read."""
        return self._paths("deny")

    def access(self, path: str) -> Access:
        """What may be done with a path, which is absolute and normalised and has no links."""
        nearest: Access = "deny"
        for rule in self.rules:
            if is_below(path, rule.path):
                nearest = rule.access
        return nearest

    def may_read(self, path: str) -> bool:
        """Whether the path may be read."""
        return self.access(path) != "deny"

    def may_write(self, path: str) -> bool:
        """Whether the path may be written, made, removed or renamed."""
        return self.access(path) == "write"

    def includes(self, other: Reach) -> bool:
        """Whether everything that ``other`` allows is allowed here."""
        # What is allowed changes only where a rule stands.
        edges = {rule.path for rule in (*self.rules, *other.rules)}
        return self.network >= other.network and all(
            _WIDTH[self.access(path)] >= _WIDTH[other.access(path)] for path in edges
        )

    def _paths(self, *wanted: Access) -> tuple[str, ...]:
        return tuple(rule.path for rule in self.rules if rule.access in wanted)

    def _above(self, path: str) -> Access:
        return self.access(path.rpartition("/")[0] or "/")


def is_below(path: str, top: str) -> bool:
    """Whether the path is ``top`` or something below it; both absolute and normalised."""
    return top == "/" or path == top or path.startswith(f"{top}/")


def _parts(path: str) -> list[str]:
    return path.split("/") if path != "/" else [""]


UNCONFINED: Final = Reach(rules=[ReachRule("/", "write")], network=True)
"""Everything is allowed."""
