"""How far a confined process reaches: which paths it may read and write, and the network.

A reach is a list of rules, each a path and what may be done there and below. Of the rules above a
path the nearest counts; of two for the same path, deny beats write beats read. Where no rule
stands above a path, nothing may be done with it. Patterns deny, whatever the rules say.

Paths are absolute and normalised. Where links lead is settled before, by whoever looks at the
disk: `codex_actors.sandbox.resolve_reach`. Held by tests/core/test_reach.py: a reach that includes
another allows every path that the other allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

import attrs

from ..protocol import Access
from ._globs import PathPattern

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
    patterns: tuple[PathPattern, ...] = ()
    """What may not be touched, wherever it is."""

    @property
    def is_unconfined(self) -> bool:
        """Whether there is nothing to enforce."""
        return self.rules == (ReachRule("/", "write"),) and self.network and not self.patterns

    @property
    def writes_everywhere(self) -> bool:
        """Whether no path is kept from being written."""
        narrowed = self.patterns or self._paths("read", "deny")
        return self.access("/") == "write" and not narrowed

    @property
    def writable(self) -> tuple[str, ...]:
        """The paths that may be written, with what is below them; outer ones first."""
        return self._paths("write")

    @property
    def readable(self) -> tuple[str, ...]:
        """The paths that may be read, or even written, with what is below them; outer ones first."""
        return self._paths("read", "write")

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
        if self.matches(path):
            return "deny"
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

    def matches(self, path: str) -> bool:
        """Whether a pattern is about the path, which may have links, or about a folder above."""
        return any(pattern.holds_for(path) for pattern in self.patterns)

    def includes(self, other: Reach) -> bool:
        """Whether everything that ``other`` allows is allowed here."""
        # What is allowed changes only where a rule stands.
        edges = {rule.path for rule in (*self.rules, *other.rules)}
        denied = {pattern.text for pattern in self.patterns}
        return (
            self.network >= other.network
            # What two patterns match, nobody can tell; so the other must have the same.
            and denied <= {pattern.text for pattern in other.patterns}
            and all(_WIDTH[self.access(path)] >= _WIDTH[other.access(path)] for path in edges)
        )

    def narrowed_by(self, other: Reach) -> Reach:
        """Return what both allow."""
        edges = {rule.path for rule in (*self.rules, *other.rules)}
        plain = attrs.evolve(self, patterns=()), attrs.evolve(other, patterns=())
        return Reach(
            rules=(
                ReachRule(
                    path, min((reach.access(path) for reach in plain), key=_WIDTH.__getitem__)
                )
                for path in edges
            ),
            network=self.network and other.network,
            patterns=tuple(dict.fromkeys((*self.patterns, *other.patterns))),
        )

    def spell_out(self, found: Iterable[str]) -> Reach:
        """Return the reach with paths instead of its patterns.

        Args:
            found: All that the patterns match; it is denied with all below it.
        """
        tops = tuple(found)
        kept = (rule for rule in self.rules if not any(is_below(rule.path, top) for top in tops))
        denied = (ReachRule(top, "deny") for top in tops)
        return attrs.evolve(self, rules=(*kept, *denied), patterns=())

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
