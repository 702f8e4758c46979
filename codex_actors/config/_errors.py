"""What a user did wrong in a setting, where, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .._errors import CodexActorsError


class SettingsError(CodexActorsError):
    """A setting is missing, unreadable or wrong. Whoever wrote it can put it right.

    Attributes:
        problem: What is wrong, without the place.
        source: Where it was set: a path, with a line if it has one, or the option of the command line; None when
            the trouble is that nobody set it.
        key: The dotted key, if one key is to blame.
        expected: What may stand there.
        got: What stands there.
        suggestion: What was perhaps meant.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        source: str | None = None,
        key: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        self.problem = problem or f"expected {expected}, got {got}"
        self.source = source
        self.key = key
        self.expected = expected
        self.got = got
        self.suggestion = suggestion
        hint = f"; did you mean {suggestion!r}?" if suggestion else ""
        place = [part for part in (source, key) if part]
        super().__init__(": ".join([*place, self.problem]) + hint)


def find_nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that looks most like ``word``, if any does."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def list_choices(choices: Iterable[str]) -> str:
    """``one of 'a', 'b'``."""
    return "one of " + ", ".join(map(repr, choices))
