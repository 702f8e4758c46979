"""Whether an agent has used what it may use.

Tokens and seconds are looked at before each request, so they may end a turn that runs. Turns are
looked at before a turn begins and never later: the turn that is the last one may go on to its
end. Held by tests/core/test_budget.py.
"""

from __future__ import annotations

from ..protocol import AgentPath, Limits, Spent


def over_limit(limits: Limits, spent: Spent, path: AgentPath) -> str | None:
    """Return which limit on tokens or seconds is reached, in words for people.

    Args:
        limits: What the agent at ``path`` may use, with all agents below it.
        spent: What they have used.
        path: Whose limits these are.
    """
    return _reached("tokens", limits.tokens, spent.tokens, path) or _reached(
        "seconds", limits.seconds, spent.seconds, path
    )


def over_turns(limits: Limits, spent: Spent, path: AgentPath) -> str | None:
    """Return why one more turn may not begin, in words for people; None if it may.

    Args:
        limits: What the agent at ``path`` may use, with all agents below it.
        spent: What they have used; of turns, how many began.
        path: Whose limits these are.
    """
    return _reached("turns", limits.turns, spent.turns, path)


def _reached(what: str, limit: float | None, used: float, path: AgentPath) -> str | None:
    if limit is None or used < limit:
        return None
    return f"{what} of {path}: {_plain(used)} of {_plain(limit)} used"


def _plain(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".") if isinstance(number, float) else str(number)
