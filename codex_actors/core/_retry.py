"""How long to wait before the next attempt, as a value.

Invariants, held by ``tests/core/test_retry.py``: the waits of one `Retry` have a bounded sum, a
server's delay is never cut short, and without one the waits grow until their cap.
"""

from __future__ import annotations

import math
import re
from typing import final

import attrs

LONGEST_SERVER_DELAY = 3600.0
"""Seconds. A server that asks for more is not asking for a retry: the turn ends and says why."""

_TRY_AGAIN = re.compile(r"try again in\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s)", re.IGNORECASE)


@final
@attrs.frozen
class Retry:
    """What is left of one operation's patience; each failure takes a piece of it."""

    max_retries: int
    attempt: int = 0
    """How many retries were granted so far."""
    base: float = 0.2
    """Seconds before the first retry, doubled for each further one; the reference's 200 ms."""
    longest: float = 60.0
    """Seconds; no wait of our own choosing is longer, jitter aside."""

    def after(self, failure_delay: float | None, jitter: float) -> tuple[float, Retry] | None:
        """Return the seconds to wait and the patience left, or None when it is over.

        Args:
            failure_delay: Seconds that the server asked for with this failure, if it did. It is
                obeyed as it is; one beyond `LONGEST_SERVER_DELAY` ends the retrying.
            jitter: A factor from 0.9 to 1.1, drawn by the caller, that keeps clients which failed
                together from coming back together.

        Raises:
            ValueError: The jitter is outside its range.
        """
        if not 0.9 <= jitter <= 1.1:
            raise ValueError(f"jitter must be from 0.9 to 1.1, not {jitter!r}")
        if self.attempt >= self.max_retries:
            return None
        if failure_delay is not None and not failure_delay <= LONGEST_SERVER_DELAY:
            return None
        delay = self._own_delay(jitter) if failure_delay is None else max(0.0, failure_delay)
        return delay, attrs.evolve(self, attempt=self.attempt + 1)

    def _own_delay(self, jitter: float) -> float:
        doublings = min(self.attempt, 64)  # beyond that every base is past the cap
        return min(self.base * 2.0**doublings, self.longest) * jitter


def parse_retry_delay(message: str) -> float | None:
    """Return the seconds in "try again in 1.5s", "28ms" or "35 seconds", or None.

    Fractions of a millisecond are dropped, as the reference does.
    """
    found = _TRY_AGAIN.search(message)
    if found is None:
        return None
    number, unit = float(found[1]), found[2].lower()
    if not math.isfinite(number):
        return None
    return math.floor(number) / 1000 if unit == "ms" else number
