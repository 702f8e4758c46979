"""What rules say of commands: values, and how they are matched.

Of all rules that match, the most severe decides, so that a rule can only ever be outdone by a
stricter one. A rule of the name of a program holds for its absolute path as well; but what
*allows* does so only where the program is what its name says. Held by
tests/core/test_exec_policy.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from ._command import SYSTEM_DIRECTORIES
from ._shell_tree import Words

Decision: TypeAlias = Literal["allow", "prompt", "forbidden"]
NetworkProtocol: TypeAlias = Literal["http", "https", "socks5_tcp", "socks5_udp"]

SEVERITY: Final[tuple[Decision, ...]] = ("allow", "prompt", "forbidden")
"""All decisions, the most severe last."""


@final
@attrs.frozen(kw_only=True)
class PrefixRule:
    """What to do with commands that begin in one way."""

    pattern: tuple[Words, ...]
    """For each word from the first, those that may stand there."""
    decision: Decision = "allow"
    justification: str | None = None
    """Why, for people and models."""

    def match(self, words: Sequence[str]) -> Words | None:
        """Return the words that the rule is about, or None."""
        if len(words) < len(self.pattern):
            return None
        pairs = zip(words, self.pattern, strict=False)
        fits = all(word in choices for word, choices in pairs)
        return tuple(words[: len(self.pattern)]) if fits else None


@final
@attrs.frozen
class HostExecutable:
    """Where a program lies, so that rules of its name hold for these paths."""

    name: str
    paths: Words


@final
@attrs.frozen(kw_only=True)
class NetworkRule:
    """What to do with connections to a host."""

    host: str
    protocol: NetworkProtocol
    decision: Decision
    justification: str | None = None


@final
@attrs.frozen(kw_only=True)
class ExecRules:
    """All rules that hold."""

    prefixes: tuple[PrefixRule, ...] = ()
    executables: tuple[HostExecutable, ...] = ()
    """A later one takes the place of an earlier one of the same name."""
    networks: tuple[NetworkRule, ...] = ()

    def __add__(self, other: ExecRules) -> ExecRules:
        """Return what both say together."""
        return ExecRules(
            prefixes=self.prefixes + other.prefixes,
            executables=self.executables + other.executables,
            networks=self.networks + other.networks,
        )


@final
@attrs.frozen(kw_only=True)
class RuleMatch:
    """A rule that says something about a command."""

    prefix: Words
    """The words that it is about, as the rule has them."""
    decision: Decision
    program: str | None = None
    """The path whose name the rule was found by."""
    justification: str | None = None


def match_rules(rules: ExecRules, words: Sequence[str], *, by_name: bool) -> tuple[RuleMatch, ...]:
    """Return what the rules say of a plain command, in their order.

    Args:
        rules: Those that hold.
        words: The program and its arguments.
        by_name: Whether rules of a program's name hold for its absolute path as well.
    """
    exact = [_match(rule, words, None) for rule in rules.prefixes]
    named = _match_by_name(rules, words) if by_name else ()
    return tuple(match for match in (*exact, *named) if match is not None)


def most_severe(decisions: Iterable[Decision]) -> Decision | None:
    """Return the most severe one; None of nothing."""
    return max(decisions, key=SEVERITY.index, default=None)


def _match(rule: PrefixRule, words: Sequence[str], program: str | None) -> RuleMatch | None:
    prefix = rule.match(words)
    if prefix is None:
        return None
    return RuleMatch(
        prefix=prefix,
        decision=rule.decision,
        program=program,
        justification=rule.justification,
    )


def _match_by_name(rules: ExecRules, words: Sequence[str]) -> Iterator[RuleMatch | None]:
    if not words or not words[0].startswith("/"):
        return
    directory, _, name = words[0].rpartition("/")
    if not name:
        return
    known = {executable.name: executable.paths for executable in rules.executables}
    is_itself = words[0] in known[name] if name in known else directory in SYSTEM_DIRECTORIES
    for rule in rules.prefixes:
        if is_itself or rule.decision != "allow":
            yield _match(rule, (name, *words[1:]), words[0])
