"""The words of the live view's last line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..protocol import CommandItem, FileChangeItem, RateLimitWindow, TokenUsage
from ._human import asked
from ._view_state import Running, View

BASELINE: Final = 12_000
"""Tokens of the context that are always used, for instructions and tools; they count neither
as room nor as used. The same number as Codex has."""
TELLING_PERCENT: Final = 80
"""Rate limits are told of when more of them is used up."""
LONGEST: Final = 40
"""Characters of a command in the last line; the command has a line of its own above."""

_MINUTES: Final = {60 * 24 * 7: "weekly", 60 * 24 * 30: "monthly", 60 * 24: "daily"}


def doing(view: View, now: float) -> str:
    """Return what is happening."""
    match view:
        case View(phase="starting"):
            return "starting"
        case View(phase="ending"):
            return "ending"
        case View(retry=str(told)):
            return f"retrying {_attempt(told)}, {elapsed(now - view.since)}"
        case View(saying=saying, said=said) if saying or said:
            return "writing"
        case View(running=(first, *others)):
            more = f" and {len(others)} more" if others else ""
            return f"{working(first)}{more} {elapsed(now - first.since)}"
        case _:
            return f"thinking {elapsed(now - view.since)}"


def working(running: Running) -> str:
    """Return what a command or a patch is at, in one line."""
    match running.item:
        case CommandItem() as item:
            return f"running {_short(headline(asked(item)))}"
        case FileChangeItem(changes=changes):
            return f"patching {_count(len(changes), 'file')}"


def facts(view: View, now: float) -> Iterator[str]:
    """Yield what is to be known besides: tokens, room, limits."""
    if view.usage != TokenUsage():
        yield f"{tokens(spent(view.usage))} tokens"
    left = percent_left(view.context, view.window)
    if left is not None:
        yield f"{left} % context left"
    if view.limits is not None:
        for window in (view.limits.primary, view.limits.secondary):
            if window is not None and window.used_percent > TELLING_PERCENT:
                yield _limit(window, now)


def spent(usage: TokenUsage) -> int:
    """Return the tokens that were new: what came from a cache does not count."""
    return max(usage.input_tokens - usage.cached_input_tokens, 0) + usage.output_tokens


def percent_left(context: int, window: int | None) -> int | None:
    """Return how much of the usable context is free, 0 to 100; None if it is not known.

    Args:
        context: Tokens that are in it.
        window: Tokens that fit into it.
    """
    if window is None:
        return None
    room = window - BASELINE
    if room <= 0:
        return 0
    free = room - max(context - BASELINE, 0)
    return round(100 * min(max(free / room, 0), 1))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def headline(text: str) -> str:
    """Return the first line, and how many there are more."""
    first, *others = text.strip().split("\n")
    return f"{first} … +{_count(len(others), 'line')}" if others else first


def seconds(amount: float) -> str:
    """Return a time as people read it: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    amount = max(amount, 0.0)
    if amount < 9.95:
        return f"{amount:.1f} s"
    whole = round(amount)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def elapsed(amount: float) -> str:
    """Return a time that is still running: whole seconds, which do not flicker."""
    return f"{max(int(amount), 0)} s" if amount < 60 else seconds(int(amount))


def tokens(count: int) -> str:
    """Return a number as people read it: 950, 12.3k, 1.2M."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def _limit(window: RateLimitWindow, now: float) -> str:
    told = f"{window.used_percent:.0f} % of the {_window(window.window_minutes)}limit used"
    if window.resets_at is None:
        return told
    return f"{told}, resets in {_coarse(window.resets_at - now)}"


def _window(minutes: int | None) -> str:
    if minutes is None:
        return "rate "
    if minutes in _MINUTES:
        return f"{_MINUTES[minutes]} "
    return f"{minutes // 60} h " if minutes % 60 == 0 else f"{minutes} min "


def _coarse(amount: float) -> str:
    minutes = max(round(amount / 60), 1)
    if minutes < 60:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{round(hours / 24)} days"


def _attempt(told: str) -> str:
    found = re.search(r"\d+/\d+", told)
    return found[0] if found else "soon"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
