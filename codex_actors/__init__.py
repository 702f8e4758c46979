"""Supervised trees of coding agents, as Trio actors.

The map of the package, from the ground to the roof; arrows of imports point down only:

* ``protocol``: frozen words. ``core``: decides and does nothing. ``actors``: runs and decides
  nothing. ``wire``: how words are spelled.
* ``sandbox``: what a process may touch. ``models``, ``tools``, ``rollout``, ``config``: the
  outside world, one package each.
* ``agents``: the seam, where decisions are carried out. ``cli``: who talks to people.
* ``testing``: fakes and conformance suites, for us and for those who implement `abc`.

Below are the names of a first program; everything else is in its package. They are loaded when
they are first used, so that each layer can be imported without those above it.
"""

import importlib as _importlib
import logging as _logging
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._errors import CodexActorsError as CodexActorsError
from ._errors import InternalError as InternalError
from ._version import __version__ as __version__

if _TYPE_CHECKING:
    from .actors import ActorTerminated as ActorTerminated
    from .agents import AgentHandle as AgentHandle
    from .agents import AgentSpec as AgentSpec
    from .agents import AgentTree as AgentTree
    from .agents import Task as Task
    from .agents import open_agents as open_agents
    from .config import SettingsError as SettingsError
    from .config import find_home as find_home
    from .config import load_settings as load_settings
    from .models import ModelError as ModelError
    from .models import ResponsesClient as ResponsesClient
    from .models import ScriptedModel as ScriptedModel
    from .protocol import Capacity as Capacity
    from .protocol import Event as Event
    from .protocol import Letter as Letter
    from .protocol import Limits as Limits
    from .protocol import Role as Role
    from .protocol import Settings as Settings
    from .protocol import TaskRecord as TaskRecord
    from .protocol import ToolCall as ToolCall
    from .protocol import ToolOutput as ToolOutput
    from .tools import Tool as Tool
    from .tools import Toolbox as Toolbox
    from .tools import ToolContext as ToolContext

_HOMES = {
    "ActorTerminated": "actors",
    "AgentHandle": "agents",
    "AgentSpec": "agents",
    "AgentTree": "agents",
    "Task": "agents",
    "open_agents": "agents",
    "SettingsError": "config",
    "find_home": "config",
    "load_settings": "config",
    "ModelError": "models",
    "ResponsesClient": "models",
    "ScriptedModel": "models",
    "Capacity": "protocol",
    "Event": "protocol",
    "Letter": "protocol",
    "Limits": "protocol",
    "Role": "protocol",
    "Settings": "protocol",
    "TaskRecord": "protocol",
    "ToolCall": "protocol",
    "ToolOutput": "protocol",
    "Tool": "tools",
    "Toolbox": "tools",
    "ToolContext": "tools",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


# A library is silent until its user says where its log goes.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())
