"""The tools with which the models of a tree make agents and talk to them."""

from __future__ import annotations

from ..tools import Tool
from . import _collab_v1, _collab_v2
from ._collab_hiring import Hiring
from ._collab_team import Team
from ._commons import Commons


def collab_tools(commons: Commons) -> tuple[Tool, ...]:
    """Return what the models of a tree have to work together; see `Collaboration.generation`."""
    team = Team(commons, Hiring(commons))
    match commons.settings.collaboration.generation:
        case None:
            return ()
        case "v1":
            return _collab_v1.make_tools(team)
        case "v2":
            return _collab_v2.make_tools(team)
