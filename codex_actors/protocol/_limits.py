"""How much agents may use, and how much they have used."""

from __future__ import annotations

import math
from typing import Final

import attrs
from attrs import validators

_COUNT: Final = validators.optional(validators.gt(0))
_SECONDS: Final = validators.optional(validators.and_(validators.gt(0), validators.lt(math.inf)))


@attrs.frozen(kw_only=True)
class Limits:
    """What an agent and all agents below it may use together. None: no limit.

    A tree's limits are its root's.
    """

    depth: int | None = attrs.field(default=None, validator=validators.optional(validators.ge(0)))
    """Generations below the agent; 0: it has no children."""
    children: int | None = attrs.field(default=None, validator=_COUNT)
    """Its own children that live at once."""
    agents: int | None = attrs.field(default=None, validator=_COUNT)
    """Agents that live at once, itself included."""
    turns: int | None = attrs.field(default=None, validator=_COUNT)
    tokens: int | None = attrs.field(default=None, validator=_COUNT)
    """As providers count them: what is sent and what comes back, cached or not."""
    seconds: float | None = attrs.field(default=None, validator=_SECONDS)
    """Time during which a turn of the agent, or of one below it, runs."""


@attrs.frozen(kw_only=True)
class Capacity:
    """What a tree may have going on at once. None: no limit."""

    running: int | None = attrs.field(default=None, validator=_COUNT)
    """Turns at once; one that waits for another agent does not count."""
    loaded: int | None = attrs.field(default=None, validator=_COUNT)
    """Agents in memory at once."""


@attrs.frozen(kw_only=True)
class Spent:
    """What an agent and all agents below it have used so far."""

    turns: int = 0
    tokens: int = 0
    seconds: float = 0.0


@attrs.frozen(kw_only=True)
class Deadlines:
    """How long calls may take, in seconds, all their waiting included.

    Waiting for tasks has none: whoever waits says how long, and reads
    `codex_actors.agents.Task.progress` when that is over.
    """

    spawn: float = attrs.field(default=60.0, validator=validators.gt(0))
    send: float = attrs.field(default=30.0, validator=validators.gt(0))
    """For a letter as for a task."""
    interrupt: float = attrs.field(default=30.0, validator=validators.gt(0))
    """A tool may take 5 to let go, and the disk as long again."""
    close: float = attrs.field(default=60.0, validator=validators.gt(0))
    """Beside the agent's grace, which bounds most of it."""
    approval: float = attrs.field(default=3600.0, validator=validators.gt(0))
    """How long a question waits for its answer; then it is a no."""
