"""Who says something to an agent, where that is another agent's model."""

from __future__ import annotations

from typing import final

import attrs

from ..protocol import AgentPath, Generation, ThreadId


@final
@attrs.frozen(kw_only=True)
class Giver:
    """An agent that is told how it ends, should what it says become a task."""

    thread_id: ThreadId
    path: AgentPath
    generation: Generation | None
    """Of the tools with which its model says it."""
