"""Whether a command asks for more than the sandbox gives, and whether anybody may be asked.

What models are told here are the reference's words.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from ..core import NO_EXTRA, Wants, lacks, refuse_escalation, refuse_extra
from ..protocol import ExtraPermissions
from ._permission_arguments import Permissions, resolve_permissions
from ._tool import ToolContext

WORDS: Final = ("use_default", "with_additional_permissions", "require_escalated")
"""How models spell what they want."""


@final
@attrs.frozen
class Escalation:
    """What a command is to be run with."""

    wants: Wants = "default"
    extra: ExtraPermissions = NO_EXTRA


async def read_escalation(
    word: str | None, permissions: Permissions | None, cwd: str
) -> Escalation | str:
    """Return what a call asks for, or why that makes no sense.

    Args:
        word: What it says of the sandbox.
        permissions: What it says that it needs.
        cwd: Where relative paths begin.

    Cancellation: nothing has happened. A checkpoint only where there are paths to look at.
    """
    if word is not None and word not in WORDS:
        known = "`use_default`, `require_escalated`, `with_additional_permissions`"
        return (
            f"failed to parse function arguments: unknown variant `{word}`, expected one of {known}"
        )
    if word == "require_escalated":
        if permissions is not None:
            return (
                "`additional_permissions` requires `sandbox_permissions` set to"
                " `with_additional_permissions`"
            )
        return Escalation("unconfined")
    if permissions is None:
        if word == "with_additional_permissions":
            return (
                "missing `additional_permissions`; provide at least one of `network` or"
                " `file_system` when using `with_additional_permissions`"
            )
        return Escalation()
    try:
        extra = await resolve_permissions(permissions, cwd)
    except ValueError as error:
        return f"`additional_permissions` cannot be granted: {error}"
    if extra == NO_EXTRA:
        return (
            "`additional_permissions` must include at least one requested permission in `network`"
            " or `file_system`"
        )
    return Escalation("extra", extra)


def why_none(word: str | None, wrong: str, context: ToolContext) -> str:
    """Return what to tell of an escalation that makes no sense: first of all, that there is none."""
    asks = word in ("require_escalated", "with_additional_permissions")
    return (asks and refuse_escalation(context.settings.approval_policy)) or wrong


def forbids(escalation: Escalation, context: ToolContext) -> str | None:
    """Return why nobody can be asked for it, if so."""
    settings = context.settings
    if escalation.wants == "default":
        return None
    if escalation.wants == "unconfined":
        return refuse_escalation(settings.approval_policy)
    if not lacks(context.guard.held, escalation.extra):
        return None
    refusal = refuse_escalation(settings.approval_policy)
    if refusal is None and settings.features.get("exec_permission_approvals"):
        return refuse_extra(settings.approval_policy)
    return refusal or (
        "additional permissions are disabled; enable `features.exec_permission_approvals` before"
        " using `with_additional_permissions`"
    )
