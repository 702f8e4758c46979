"""Who of a tree may make agents and talk to them. Held by tests/core/test_team.py."""

from __future__ import annotations

from ..protocol import Settings


def may_collaborate(settings: Settings, depth: int) -> bool:
    """Whether an agent gets the tools with which models work together.

    In the first generation those do that may have children; in the second the root does, and
    those below it whose model was trained on these tools.

    Args:
        settings: The agent's.
        depth: How many agents are above it.
    """
    collaboration = settings.collaboration
    if collaboration.generation is None:
        return False
    if collaboration.generation == "v2":
        return depth == 0 or settings.model.multi_agent == "v2"
    return collaboration.depth is None or depth < collaboration.depth
