"""What the agents of a tree have used together, those that live no more included."""

from __future__ import annotations

from ..protocol import TokenUsage
from ._commons import Commons


def total_usage(commons: Commons) -> TokenUsage:
    """Return the sum over all threads of the tree. Not a checkpoint."""
    living = [desk.used for desk in commons.desks.values()]
    return sum([*living, *commons.gone.values()], TokenUsage())
