"""How the models of a tree may make agents, and talk to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs
from attrs import validators

from ._roles import Role

Generation: TypeAlias = Literal["v1", "v2"]
"""Which tools there are: those that name agents by thread ids, or those that do by paths."""


@attrs.frozen(kw_only=True)
class WaitTimes:
    """How long a model may wait for agents, in milliseconds."""

    least: int = 10_000
    usual: int = 30_000
    most: int = 3_600_000


@attrs.frozen(kw_only=True)
class Collaboration:
    """What the models of a tree are given to work together. The defaults are the reference's."""

    generation: Generation | None = None
    """None: no tools."""
    chosen: bool = False
    """Whether somebody said so: a switch, or what is known of the model."""
    at_work: int = attrs.field(default=6, validator=validators.ge(0))
    """Agents below the root that may be at work at once; who has finished does not count."""
    depth: int | None = 1
    """Generations below the root that models may make; None: any number."""
    model: str | None = None
    """Model of an agent that is spawned without one; None: its parent's."""
    effort: str | None = None
    marks_interrupts: bool = True
    """Whether an interrupted turn leaves a marker in the history."""
    roles: Mapping[str, Role] = attrs.field(factory=dict)
    """Those that config tells of, beside the built-in ones."""
    wait_times: WaitTimes = WaitTimes()
    namespace: str = "collaboration"
    """Where the tools of the second generation are."""
    shows_nicknames: bool = False
    """Whether a spawn of the second generation answers with the agent's nickname."""
    offers_models: bool = True
    """Whether a spawn of the second generation takes a model and an effort."""
    offers_wait: bool = True
    """Whether there is a tool to wait with in the second generation."""
    spawn_hint: str | None = None
    """Takes the place of what the model is told of spawning."""
    root_hint: str | None = None
    """Takes the place of what a root is told of its team; empty: it is told nothing."""
    agent_hint: str | None = None
    """The same for the agents below."""
    agent_instructions: str | None = None
    """What agents below the root read as the developer's word, instead of the root's."""
    mode_hint: str | None = None
    """Takes the place of what the model is told of when to delegate."""
