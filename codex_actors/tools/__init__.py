"""What agents can do: run commands, change files, look at pictures, and what you add."""

from __future__ import annotations

from ..wire._arguments import Arguments as Arguments
from ..wire._arguments import BadArguments as BadArguments
from ..wire._arguments import Indescribable as Indescribable
from ..wire._arguments import make_arguments as make_arguments
from ._announce import announce_completed as announce_completed
from ._announce import announce_started as announce_started
from ._apply_patch import FREEFORM_PATCH as FREEFORM_PATCH
from ._apply_patch import FUNCTION_PATCH as FUNCTION_PATCH
from ._arguments import function_tool as function_tool
from ._changes import TurnChanges as TurnChanges
from ._exec_command import EXEC_COMMAND as EXEC_COMMAND
from ._exec_command import exec_command as exec_command
from ._guard import AsksNobody as AsksNobody
from ._guard import Guard as Guard
from ._limits import reach_of as reach_of
from ._patch_files import FileTrouble as FileTrouble
from ._plan import UPDATE_PLAN as UPDATE_PLAN
from ._request_permissions import REQUEST_PERMISSIONS as REQUEST_PERMISSIONS
from ._session import RunningProcess as RunningProcess
from ._session import Session as Session
from ._sessions import ExecSessions as ExecSessions
from ._sessions import ProcessStarter as ProcessStarter
from ._sessions import TooManyCommands as TooManyCommands
from ._sessions import exec_sessions as exec_sessions
from ._sessions import open_exec_sessions as open_exec_sessions
from ._standard import standard_toolbox as standard_toolbox
from ._standard import standard_tools as standard_tools
from ._tool import DuplicateTool as DuplicateTool
from ._tool import JsonSchema as JsonSchema
from ._tool import NotAnOutput as NotAnOutput
from ._tool import Tool as Tool
from ._tool import Toolbox as Toolbox
from ._tool import ToolContext as ToolContext
from ._tool import answer as answer
from ._tool import refuse as refuse
from ._view_image import MAX_IMAGE_BYTES as MAX_IMAGE_BYTES
from ._view_image import load_image as load_image
from ._view_image import view_image as view_image
from ._write_stdin import WRITE_STDIN as WRITE_STDIN
