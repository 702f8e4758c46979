"""Agents: actors that run turns. Here `core` decides, and `actors` run."""

from ._errors import AgentError as AgentError
from ._errors import AuthorityWidened as AuthorityWidened
from ._errors import EmptyInput as EmptyInput
from ._errors import NoSuchAgent as NoSuchAgent
from ._errors import OperationRefused as OperationRefused
from ._errors import RootExists as RootExists
from ._errors import SandboxUnavailable as SandboxUnavailable
from ._errors import SpawnRefused as SpawnRefused
from ._errors import UnknownEffort as UnknownEffort
from ._errors import UnknownModel as UnknownModel
from ._errors import UnknownSummary as UnknownSummary
from ._handle import AgentHandle as AgentHandle
from ._ids import new_uuid7 as new_uuid7
from ._last_words import last_status as last_status
from ._last_words import last_usage as last_usage
from ._leftovers import report_leftovers as report_leftovers
from ._overrides import check_sandbox as check_sandbox
from ._scope import open_agents as open_agents
from ._services import AgentServices as AgentServices
from ._spec import AgentSpec as AgentSpec
from ._task import Progress as Progress
from ._task import Task as Task
from ._tree import AgentSnapshot as AgentSnapshot
from ._tree import AgentTree as AgentTree
