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
    # Each agent that goes on is looked at once, so that long chains of agents cost no more.
    counts = dict.fromkeys(waits, 0)
    held_up: dict[str, list[_Held]] = {agent: [] for agent in waits}
    for agent, wait in ((agent, wait) for agent, own in waits.items() for wait in own):
        targets = [target for target in wait.targets if target in waits]
        if targets and (wait.every or len(targets) == len(wait.targets)):
            counts[agent] += 1
            held = _Held(agent, len(targets) if wait.every else 1)
            for target in targets:
                held_up[target].append(held)
    free = [agent for agent, count in counts.items() if not count]
    while free:
        for held in held_up[free.pop()]:
            held.missing -= 1
            if not held.missing:  # of a wait for any one, the others make no difference
                counts[held.agent] -= 1
                if not counts[held.agent]:
                    free.append(held.agent)
    return frozenset(agent for agent, count in counts.items() if count)


@attrs.define(eq=False)
class _Held:
    """A wait that is not over."""

    agent: str
    missing: int
    """How many have to come to an end first."""


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
