"""Bounding calls: whoever calls is answered in time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import trio

from ._errors import DeadlinePassed

SETTLING: Final = 5.0
"""Seconds that writing down an end may take, whoever is cancelled meanwhile."""


def settling() -> trio.CancelScope:
    """Let the block write down how something ended, for at most `SETTLING` seconds."""
    return trio.move_on_after(SETTLING, shield=True)


@contextmanager
def within(seconds: float, what: str, state: Callable[[], str]) -> Generator[None, None, None]:
    """Give the block so many seconds.

    Args:
        seconds: How long it may take.
        what: What it does, for people.
        state: Says how things stand when the time is over.

    Raises:
        DeadlinePassed: if they were not enough.
    """
    with trio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlinePassed(what, seconds, state())
