"""Who waits for whom, and whether they wait in a ring: then none of them will ever go on.

Held by tests/core/test_waits.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping


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
