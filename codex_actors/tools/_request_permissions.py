"""The tool that asks for permissions before they are needed."""

from __future__ import annotations

from typing import Annotated, Any, Final, final

import attrs

from ..core import NO_EXTRA, PermissionWish
from ..protocol import GrantedPermissions, PathPlace, ToolCall, ToolOutput
from ..wire import encode_json
from ._arguments import function_tool
from ._permission_arguments import Permissions, resolve_permissions
from ._tool import Tool, ToolContext, answer, refuse


@final
@attrs.frozen
class _Request:
    permissions: Annotated[Permissions, "What you need."]
    reason: Annotated[str | None, "What for, in one sentence for the user."] = None


async def _run(args: _Request, call: ToolCall, context: ToolContext) -> ToolOutput:
    try:
        extra = await resolve_permissions(args.permissions, context.settings.cwd)
    except ValueError as error:
        return refuse(call, f"request_permissions failed: {error}")
    if extra == NO_EXTRA:
        return refuse(call, "request_permissions requires at least one permission")
    wish = PermissionWish(call_id=call.call_id, extra=extra, reason=args.reason)
    granted = await context.guard.grant(wish)
    return answer(call, encode_json(_spell(granted)).decode())


def _spell(granted: GrantedPermissions) -> dict[str, Any]:
    files = {access: _paths(granted, access) for access in ("read", "write")}
    permissions = {
        "network": {"enabled": True} if granted.extra.network else None,
        "file_system": {name: paths for name, paths in files.items() if paths} or None,
    }
    return {"permissions": permissions, "scope": granted.scope}


def _paths(granted: GrantedPermissions, access: str) -> list[str]:
    return [
        entry.place.path
        for entry in granted.extra.files
        if entry.access == access and isinstance(entry.place, PathPlace)
    ]


REQUEST_PERMISSIONS: Final[Tool] = function_tool(
    name="request_permissions",
    description="Asks the user for permissions that the sandbox does not give: folders to read or"
    " to write, or the network. What is granted holds for the commands that follow in this turn,"
    " or in the whole session, as the answer's `scope` says.",
    arguments=_Request,
    run=_run,
)
