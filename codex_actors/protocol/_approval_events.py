"""What the world is told of questions. A hint: the open ones are in the tree's watch of them."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ._approvals import ExtraPermissions
from ._changes import FileChange


@attrs.frozen(kw_only=True)
class CommandApprovalRequested:
    """Somebody is to say whether a command may run."""

    call_id: str
    approval_id: str
    """The question's id, with which it is answered."""
    turn_id: str
    command: tuple[str, ...]
    cwd: str
    reason: str | None = None
    proposed_execpolicy_amendment: tuple[str, ...] | None = None
    """The beginning of commands that may be allowed from now on, along with a yes."""
    additional_permissions: ExtraPermissions | None = None
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class PatchApprovalRequested:
    """Somebody is to say whether files may be changed. It is answered by its call's id."""

    call_id: str
    turn_id: str
    changes: dict[str, FileChange]
    """By absolute path."""
    reason: str | None = None
    grant_root: str | None = None
    started_at_ms: int = 0


@attrs.frozen(kw_only=True)
class PermissionsRequested:
    """Somebody is to say which permissions a turn gets. It is answered by its call's id."""

    call_id: str
    turn_id: str
    permissions: ExtraPermissions
    cwd: str | None = None
    reason: str | None = None
    started_at_ms: int = 0


ApprovalEvent: TypeAlias = CommandApprovalRequested | PatchApprovalRequested | PermissionsRequested
