"""The tools that every agent has."""

from __future__ import annotations

from ..protocol import Settings
from ._apply_patch import FREEFORM_PATCH, FUNCTION_PATCH
from ._exec_command import exec_command
from ._plan import UPDATE_PLAN
from ._request_permissions import REQUEST_PERMISSIONS
from ._tool import Tool, Toolbox
from ._view_image import view_image
from ._write_stdin import WRITE_STDIN


def standard_tools(settings: Settings) -> tuple[Tool, ...]:
    """Return what an agent with these settings can do by itself.

    The features ``apply_patch`` and ``update_plan`` switch those tools on or off; where they
    are silent, the model's metadata decides. With ``exec_permission_approvals`` commands may ask
    for single permissions; ``request_permissions_tool`` is a tool that asks for them beforehand.
    """
    return (
        exec_command(
            login=settings.allow_login_shell,
            more=settings.features.get("exec_permission_approvals", False),
        ),
        WRITE_STDIN,
        *_plan(settings),
        *_permissions(settings),
        *_patch(settings),
        view_image(original=settings.model.supports_image_detail_original),
    )


def standard_toolbox(settings: Settings) -> Toolbox:
    """Return `standard_tools`, and nothing else, as a toolbox."""
    return Toolbox(standard_tools(settings))


def _plan(settings: Settings) -> tuple[Tool, ...]:
    wanted = "update_plan" in settings.model.experimental_tools
    return (UPDATE_PLAN,) if settings.features.get("update_plan", wanted) else ()


def _permissions(settings: Settings) -> tuple[Tool, ...]:
    return (REQUEST_PERMISSIONS,) if settings.features.get("request_permissions_tool") else ()


def _patch(settings: Settings) -> tuple[Tool, ...]:
    form = settings.model.apply_patch
    if not settings.features.get("apply_patch", form is not None):
        return ()
    return (FUNCTION_PATCH,) if form == "function" else (FREEFORM_PATCH,)
