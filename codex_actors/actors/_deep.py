"""What Trio does by recursion, for trees of actors that are deeper than Python's stack."""

from __future__ import annotations

import sys
from typing import Final

import trio

ROOM: Final = 100_000
"""Cancel scopes around each other: an actor in an actor is three of them."""


def effective_deadline() -> float:
    """Return `trio.current_effective_deadline`, however many scopes are around this one."""
    try:
        return trio.current_effective_deadline()
    except RecursionError:
        # Each scope asks the one around it. Frames of Python are no frames of C, so that a
        # higher limit is safe; it is back before any other task runs.
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + ROOM)
        try:
            return trio.current_effective_deadline()
        finally:
            sys.setrecursionlimit(limit)


def is_cancellation(exc: BaseException) -> bool:
    """Return whether that is all it is: a cancelled nursery puts it into groups."""
    if isinstance(exc, BaseExceptionGroup):
        return exc.split(trio.Cancelled)[1] is None
    return isinstance(exc, trio.Cancelled)


def ungrouped(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return one cancellation for a group of nothing else, and any other group as it is.

    It ends the same scopes. A group around a group for each generation could not even be
    printed, which Trio does.
    """
    if not is_cancellation(group):
        return group
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf
