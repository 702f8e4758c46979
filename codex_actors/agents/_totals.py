"""What the agents of a tree have used together, those that live no more included."""

from __future__ import annotations

from ..protocol import TokenUsage
from ._commons import Commons
from ._desk import Desk


def total_usage(commons: Commons) -> TokenUsage:
    """Return the sum over all threads of the tree. Not a checkpoint."""
    living = map(usage_of, commons.desks.values())
    return sum([*living, *commons.gone.values()], TokenUsage())


def usage_of(desk: Desk) -> TokenUsage:
    """Return what an agent's own thread has used, as of its last response. Not a checkpoint."""
    thread = None if desk.life is None else desk.life.thread
    tokens = desk.tokens if thread is None else thread.tokens
    return tokens.total_token_usage
