"""What rules say of the commands of a script, one after another.

A rule that allows is about a program, by name or path, and does not hold where an earlier command
of the script may have made the words mean another. One that asks or forbids always holds.
"""

from __future__ import annotations

from ._command import TakenApart
from ._exec_policy import ExecRules, RuleMatch, match_rules
from ._shell_state import Doubt, find_doubts
from ._shell_tree import Words


def match_parts(
    rules: ExecRules, apart: TakenApart, *, by_name: bool, first: Doubt = "none"
) -> tuple[tuple[RuleMatch, ...], ...]:
    """Return what the rules say of each part of a command; see `match_rules`.

    Args:
        rules: Those that hold.
        apart: The command.
        by_name: See `match_rules`.
        first: What is in doubt before its first part.
    """
    return tuple(
        tuple(
            match
            for match in match_rules(rules, part, by_name=by_name)
            if match.decision != "allow" or _is_itself(part, doubt)
        )
        for part, doubt in zip(apart.parts, find_doubts(apart.parts, first), strict=True)
    )


def _is_itself(words: Words, doubt: Doubt) -> bool:
    """Whether the first word still leads to what it led to before the script."""
    match doubt:
        case "none":
            return True
        case "place":
            # A path from here is a path from elsewhere now; names are looked up as before.
            # Git does what the repository says that it comes to.
            _, slash, name = words[0].rpartition("/")
            return name != "git" and (not slash or words[0].startswith("/"))
        case "names":
            return False
