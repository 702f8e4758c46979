"""What an agent is told of the others: how they work together, and who is there."""

from __future__ import annotations

from typing import final

import attrs

from ..core import may_collaborate
from ..protocol import AgentPath, Settings
from ._desk import Desk
from ._prompts import read_prompt


@final
@attrs.frozen
class Briefing:
    """The words for agents that are named by paths."""

    root: str
    agent: str
    mode: str

    def team(self, settings: Settings, path: AgentPath) -> str | None:
        """How an agent works with others; None: it is told nothing."""
        collaboration = settings.collaboration
        if collaboration.generation != "v2":
            return None
        own = collaboration.root_hint if path.parent is None else collaboration.agent_hint
        if own is not None:
            return own or None
        text = self.root if path.parent is None else self.agent
        # Not by `format`: people's own words may have braces.
        for name, value in (
            ("{path}", path.text),
            ("{parent}", str(path.parent)),
            ("{slots}", str(collaboration.at_work + 1)),
        ):
            text = text.replace(name, value)
        return text

    def when(self, settings: Settings) -> str | None:
        """When an agent is to make others; None: it is told nothing."""
        collaboration = settings.collaboration
        if collaboration.generation != "v2":
            return None
        return self.mode if collaboration.mode_hint is None else collaboration.mode_hint or None


def read_briefing() -> Briefing:
    """Return our own words."""
    return Briefing(
        root=read_prompt("team_root"),
        agent=read_prompt("team_agent"),
        mode=read_prompt("team_mode"),
    )


def roster(desk: Desk) -> tuple[str, ...]:
    """The agents that this one owns, a line for each, as its environment shows them."""
    generation = desk.settings.collaboration.generation
    if generation is None or not may_collaborate(desk.settings, desk.path.depth):
        return ()
    children = [child for child in desk.children.values() if child.made and not child.closing]
    if generation == "v2":
        return tuple(f'<agent name="{child.path}" />' for child in children)
    return tuple(f"- {child.thread_id}: {child.spec.nickname or child.path}" for child in children)
