"""What an agent is to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, final

import attrs

from ..actors import Restart, RestartLimit, Strategy
from ..protocol import AgentPath, Limits, Overrides, Role, TaskRecord
from ..tools import Tool

Fork: TypeAlias = Literal["none", "all"] | int
"""How many of its owner's last turns an agent knows of."""
Unfinished: TypeAlias = Literal["restart", "leave"]
"""What becomes of a task that a process left unfinished: it is run again, or stays open."""


def _check_fork(_: object, __: object, value: object) -> None:
    if value not in ("none", "all") and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{value!r} is no fork; write 'none', 'all', or a number of turns")


@final
@attrs.frozen(kw_only=True)
class AgentSpec:
    """How to make one agent. What is not said is as in the tree's, or its owner's, settings."""

    name: str | None = None
    """Letters, digits, ``-`` and ``_``; the last part of the agent's path. The root is always
    ``root``; for others, None takes ``agent_1``, ``agent_2`` and so on."""
    instructions: str | None = None
    """What this agent is for; the model reads it as the developer's word."""
    role: Role | None = None
    """What kind of agent it is; a role never gives more than the owner has."""
    overrides: Overrides = Overrides()
    """Settings that are other than its owner's: model, effort, directory, permissions."""
    fork: Fork = attrs.field(default="none", validator=_check_fork)
    """What a child begins with of its owner's conversation."""
    limits: Limits = Limits()
    """What it may use, with all below it. What its owners may use bounds it as well."""
    tools: tuple[Tool, ...] = ()
    """Further tools, beside the ones that the model's metadata and config ask for."""
    resume: str | None = None
    """Id of a thread to go on with, instead of starting a new one: of a root, with its tree."""
    unfinished: Unfinished | Callable[[TaskRecord], Unfinished] = "leave"
    """For a root that is resumed: what becomes of unfinished tasks, all or one by one."""
    tools_below: Callable[[AgentPath], tuple[Tool, ...]] = lambda _: ()
    """For a root that is resumed: the further tools of each agent below it."""
    restart: Restart = Restart.TRANSIENT
    """When the agent itself is started again after it has ended."""
    children_restart_limit: RestartLimit = RestartLimit()
    """How often each of its children may be restarted."""
    children_strategy: Strategy = Strategy.ONE_FOR_ONE
    """Which of its children are restarted together."""
    grace: float = attrs.field(default=15.0, validator=attrs.validators.ge(0))
    """Seconds between asking the agent to end and cancelling it. A turn may take 5 to let
    go of a tool, and as long again to be written down (see `codex_actors.agents`)."""
