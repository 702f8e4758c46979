"""An agent's tools, and how the model is told of them: made once for all agents that are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs

from ..protocol import Settings
from ..tools import Tool, Toolbox
from ..wire import encode_json

KEPT: Final = 64
"""How many sets of tools are remembered."""


@final
@attrs.frozen
class Equipment:
    """A set of tools."""

    toolbox: Toolbox
    specs: bytes
    """Their descriptions, as requests carry them."""


@final
class Equipper:
    """Makes equipment. Agents that share their settings share it.

    Args:
        toolbox: The tools that go with settings.
    """

    def __init__(self, toolbox: Callable[[Settings], Toolbox]) -> None:
        self._toolbox = toolbox
        # By identity: settings hold tables, and comparing them would cost more than it saves.
        # They are kept along with what was made from them, so that no id is used twice.
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], Equipment]] = {}

    def equip(
        self,
        settings: Settings,
        tools: tuple[Tool, ...],
        without: tuple[str, ...],
        team: tuple[Tool, ...] = (),
    ) -> Equipment:
        """Return the tools of an agent with these settings.

        Args:
            settings: Say which tools there are.
            tools: Further ones.
            without: Full names of those that it does not get.
            team: Those for working with other agents.

        Raises:
            DuplicateTool: if two of them have one name.
        """
        kept = (settings, tools, without, team)
        key = tuple(map(id, kept))
        if key in self._made:
            return self._made[key][1]
        every = [*self._toolbox(settings), *team, *tools]
        toolbox = Toolbox([tool for tool in every if tool.full_name not in without])
        equipment = Equipment(toolbox, encode_json(toolbox.specs()))
        if len(self._made) >= KEPT:
            del self._made[next(iter(self._made))]
        self._made[key] = (kept, equipment)
        return equipment
