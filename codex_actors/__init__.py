"""Supervised trees of coding agents, as Trio actors.

The map of the package, from the ground to the roof; arrows of imports point down only:

* ``protocol``: frozen words. ``core``: decides and does nothing. ``actors``: runs and decides
  nothing. ``wire``: how words are spelled.
* ``sandbox``: what a process may touch. ``models``, ``tools``, ``rollout``, ``config``: the
  outside world, one package each.
* ``agents``: the seam, where decisions are carried out. ``cli``: who talks to people.
* ``testing``: fakes and conformance suites, for us and for those who implement `abc`.

Below are the names of a first program; everything else is in its package.
"""

import logging as _logging

from ._errors import CodexActorsError as CodexActorsError
from ._errors import InternalError as InternalError
from ._version import __version__ as __version__
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
from .protocol import Event as Event
from .protocol import Settings as Settings
from .protocol import TaskRecord as TaskRecord
from .protocol import ToolCall as ToolCall
from .protocol import ToolOutput as ToolOutput
from .tools import Tool as Tool
from .tools import Toolbox as Toolbox
from .tools import ToolContext as ToolContext

# A library is silent until its user says where its log goes.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())
