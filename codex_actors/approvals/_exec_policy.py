"""Rules and grammar, together: what becomes of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import attrs

from ..core import (
    ExecRules,
    RuleMatch,
    Situation,
    TakenApart,
    Verdict,
    Words,
    judge_command,
    match_parts,
    propose_prefix,
    take_apart,
)
from ._shell_grammar import parse_script


@final
@attrs.frozen(kw_only=True)
class ExecPolicy:
    """What is known of commands. A value: a rule more makes another one."""

    rules: ExecRules = ExecRules()
    shells: tuple[str, ...] = ()
    """Absolute paths of shells that are seen through, besides those of the system."""

    def take_apart(self, words: Sequence[str]) -> TakenApart:
        """Return the plain commands that a command runs; takes a few milliseconds at most."""
        return take_apart(words, parse_script, self.shells)

    def judge(self, words: Sequence[str], situation: Situation) -> Verdict:
        """Decide about a command; there is an answer for every one."""
        return judge_command(self.take_apart(words), self.rules, situation)

    def propose(
        self, words: Sequence[str], situation: Situation, wanted: Sequence[str] | None = None
    ) -> Words | None:
        """Return the beginning of commands that a person may be asked to allow, or None.

        Args:
            words: The command that is asked about.
            situation: What it is to run under.
            wanted: What the model would like to have allowed.
        """
        return propose_prefix(self.take_apart(words), self.rules, situation, wanted)

    def match(self, words: Sequence[str], *, by_name: bool) -> tuple[tuple[RuleMatch, ...], ...]:
        """Return what the rules say of each part of a command."""
        return match_parts(self.rules, self.take_apart(words), by_name=by_name)

    def with_rules(self, more: ExecRules) -> ExecPolicy:
        """Return a policy that has these rules as well."""
        return attrs.evolve(self, rules=self.rules + more)
