"""What an agent is to be."""

from __future__ import annotations

from typing import final

import attrs

from ..actors import Restart
from ..protocol import Overrides
from ..tools import Tool


@final
@attrs.frozen(kw_only=True)
class AgentSpec:
    """How to make one agent. What is not said is as in the tree's settings."""

    name: str = "root"
    """Letters, digits, ``-`` and ``_``; the last part of the agent's path."""
    instructions: str | None = None
    """What this agent is for; the model reads it as the developer's word."""
    overrides: Overrides = Overrides()
    tools: tuple[Tool, ...] = ()
    """Further tools, beside the ones that the model's metadata and config ask for."""
    resume: str | None = None
    """Id of a thread to go on with, instead of starting a new one."""
    restart: Restart = Restart.TRANSIENT
    grace: float = 15.0
    """Seconds between asking the agent to end and cancelling it. A turn may take 5 to let
    go of a tool, and as long again to be written down (see `codex_actors.agents`)."""
