"""Who waits for whom, and who of them will never go on, because they wait in a ring.

Held by tests/core/test_waits.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import final

import attrs


@final
@attrs.frozen
class Wait:
    """What an agent waits for."""

    targets: tuple[str, ...]
    """Agents that have to come to an end with something first."""
    every: bool
    """Whether all of them have to, or any one."""


def find_stuck(waits: Mapping[str, Collection[Wait]]) -> frozenset[str]:
    """Return the agents that will never go on, as all that could let them wait for each other.

    Args:
        waits: By agent, what it waits for. It goes on when it has all of that.
    """
    stuck = set(waits)
    while free := {agent for agent in stuck if all(_ends(wait, stuck) for wait in waits[agent])}:
        stuck -= free
    return frozenset(stuck)


def _ends(wait: Wait, stuck: Collection[str]) -> bool:
    held = [target in stuck for target in wait.targets]
    return not (any(held) if wait.every else held and all(held))


def find_ring(waits: Mapping[str, Collection[str]], start: str) -> tuple[str, ...] | None:
    """Return the agents that wait for each other in a ring through ``start``.

    Args:
        waits: By agent, those that it waits for.
        start: One of them.

    Returns:
        The shortest ring, and of several such the first in the order of names: ``start``
        waits for the second, each for the next, and the last for ``start``. None if
        there is none.
    """
    ways: dict[str, tuple[str, ...]] = {start: (start,)}
    ahead = deque([start])
    while ahead:
        agent = ahead.popleft()
        awaited = waits.get(agent, ())
        if start in awaited:
            return ways[agent]
        for other in sorted(awaited):
            if other not in ways:
                ways[other] = (*ways[agent], other)
                ahead.append(other)
    return None
