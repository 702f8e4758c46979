"""What kinds of agents there are."""

from __future__ import annotations

import attrs

from ._limits import Limits
from ._permissions import SandboxPolicy


@attrs.frozen(kw_only=True)
class Role:
    """What a kind of agent is for. A role can only narrow what its bearer may do.

    What is None is as it is with the parent.
    """

    name: str
    description: str = ""
    """For the model that chooses among roles."""
    instructions: str | None = None
    """What the bearer reads as the developer's word."""
    model: str | None = None
    effort: str | None = None
    summary: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    sandbox_policy: SandboxPolicy | None = None
    """Never wider than the parent's."""
    without_tools: tuple[str, ...] = ()
    """Full names of tools that the bearer does not get."""
    limits: Limits = Limits()
    nicknames: tuple[str, ...] = ()
    """What its bearers are called by, for people; empty: as other agents."""
