"""What an agent was made as."""

from __future__ import annotations

import attrs

from ._limits import Limits
from ._permissions import ApprovalPolicy, SandboxPolicy


@attrs.frozen(kw_only=True)
class AgentPlan:
    """What an agent was made as, in plain words: to make it again when its tree is resumed."""

    role: str | None = None
    """The name of its role, if it has one."""
    without_tools: tuple[str, ...] = ()
    instructions: str | None = None
    model: str | None = None
    effort: str | None = None
    summary: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    sandbox_policy: SandboxPolicy | None = None
    limits: Limits = Limits()
    restart: str = "transient"
    children_max_restarts: int = 3
    """How often each of its children is restarted in a series."""
    children_within: float = 5.0
    """Seconds that a restarted child has to run to begin a new series."""
    children_strategy: str = "one_for_one"
    grace: float = 15.0
    fork: str = "none"
    """``none``, ``all`` or a number of turns."""
