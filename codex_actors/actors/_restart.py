"""What a supervisor does when a child ends, as plain functions on plain values.

No clock and no task in here: the caller says what time it is. The laws, held by
``tests/actors/test_restart.py``: at most ``max_restarts`` restarts in any window
without progress; a temporary child is never restarted; neither is one that is
stopping.

Restarts are counted per child. OTP counts them per supervisor, where one bad leaf
can use up the patience meant for all; here it can only use up its own.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never, final

import attrs

MAX_DELAY = 60.0
"""Seconds; the longest wait before a restart, so that a patient limit stays useful."""


@final
class Restart(enum.Enum):
    """When a child is started again after it has ended."""

    PERMANENT = "permanent"
    """Always."""
    TRANSIENT = "transient"
    """Only after a crash."""
    TEMPORARY = "temporary"
    """Never."""


@final
class Strategy(enum.Enum):
    """Who is started again together with a child that ended."""

    ONE_FOR_ONE = "one_for_one"
    """Nobody: it is started again alone."""
    ONE_FOR_ALL = "one_for_all"
    """Everybody: the children cannot work without each other."""
    REST_FOR_ONE = "rest_for_one"
    """Those started after it: they may have been built on it."""


@final
@attrs.frozen(kw_only=True)
class RestartLimit:
    """How often a child may be restarted before it counts as beyond help."""

    max_restarts: int = 3
    """Restarts of one child in a series."""
    within: float = 5.0
    """Seconds that a restarted child has to run to begin a new series."""


@final
@attrs.frozen
class Restarting:
    """The child is started again."""

    delay: float
    """Seconds to wait before that: 1, 2, 4 and so on within a series, at most `MAX_DELAY`."""


Decision: TypeAlias = Restarting | Literal["stop", "escalate", "end"]
OnLimit: TypeAlias = Literal["escalate", "end"]


def decide(
    restart: Restart,
    *,
    crashed: bool,
    stopping: bool,
    restarted_at: tuple[float, ...],
    now: float,
    limit: RestartLimit,
    on_limit: OnLimit = "escalate",
) -> Decision:
    """Return what to do with a child that has just ended.

    Args:
        restart: The child's restart type.
        crashed: Whether it ended with an exception.
        stopping: Whether it was told to stop, or is cancelled; then nothing
            brings it back.
        restarted_at: Times of the restarts of its present series, in seconds,
            ascending.
        now: The present time, on the same clock.
        limit: How much ending is too much.
        on_limit: What "too much" means: the supervisor crashes as well, or only
            this child ends.
    """
    if stopping or not _is_wanted(restart, crashed=crashed):
        return "stop"
    count = len(present_series(restarted_at, now=now, limit=limit))
    return on_limit if count >= limit.max_restarts else Restarting(_delay(count))


def present_series(
    restarted_at: tuple[float, ...], *, now: float, limit: RestartLimit
) -> tuple[float, ...]:
    """Return the restarts that still count against a child that ended ``now``.

    The time it spent waiting to be restarted is no proof of health, so only the
    time since the last restart matters, not the time since the last crash.
    """
    quiet = not restarted_at or now - restarted_at[-1] >= limit.within
    return () if quiet else restarted_at


def _is_wanted(restart: Restart, *, crashed: bool) -> bool:
    match restart:
        case Restart.PERMANENT:
            return True
        case Restart.TRANSIENT:
            return crashed
        case Restart.TEMPORARY:
            return False
        case _ as never:
            assert_never(never)


def _delay(restarts: int) -> float:
    return min(2.0 ** min(restarts, 16), MAX_DELAY)


@final
@attrs.frozen(kw_only=True)
class Plan:
    """Which children are ended and which are started because one has ended."""

    stop: tuple[str, ...]
    """Names, the youngest first. Never the child that has ended."""
    start: tuple[str, ...]
    """Names, the oldest first. Always with the child that has ended."""


def plan(strategy: Strategy, child: str, children: Mapping[str, Restart]) -> Plan:
    """Return whom to stop and whom to start, as ``child`` is to be restarted.

    Args:
        strategy: Who shares the fate of the child.
        child: The name of the child that has ended.
        children: The restart types of all children by name, the oldest first,
            ``child`` among them. A temporary sibling is stopped, and not started.
    """
    names = tuple(children)
    affected = _affected(strategy, child, names)
    return Plan(
        stop=tuple(name for name in reversed(affected) if name != child),
        start=tuple(
            name for name in affected if name == child or children[name] is not Restart.TEMPORARY
        ),
    )


def _affected(strategy: Strategy, child: str, names: tuple[str, ...]) -> tuple[str, ...]:
    match strategy:
        case Strategy.ONE_FOR_ONE:
            return (child,)
        case Strategy.ONE_FOR_ALL:
            return names
        case Strategy.REST_FOR_ONE:
            return names[names.index(child) :]
        case _ as never:
            assert_never(never)
