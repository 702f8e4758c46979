"""What is asked, in its forms: for who answers, for who follows the agent, and as an item."""

from __future__ import annotations

from typing import final

import attrs

from ..protocol import (
    ApprovalEvent,
    ApprovalRequest,
    ChangeFiles,
    CommandApprovalRequested,
    CommandItem,
    FileChangeItem,
    GainPermissions,
    ItemProgress,
    PatchApprovalRequested,
    PermissionsRequested,
    RunCommand,
)


@final
@attrs.frozen(kw_only=True)
class Question:
    """A request, and how clients of the reference are told of it."""

    request: ApprovalRequest
    reason: str | None = None
    """Why, in the reference's words."""
    is_shown: bool = True
    """Whether it is about a piece of the turn; what is not shown is not remembered, either."""

    def event(self) -> ApprovalEvent:
        """The hint that it is asked."""
        request, started_at_ms = self.request, int(self.request.asked_at * 1000)
        match request.action:
            case RunCommand() as run:
                return CommandApprovalRequested(
                    call_id=request.call_id,
                    approval_id=request.id,
                    turn_id=request.turn_id,
                    command=run.command,
                    cwd=run.cwd,
                    reason=self.reason,
                    proposed_execpolicy_amendment=request.rule,
                    additional_permissions=run.extra,
                    started_at_ms=started_at_ms,
                )
            case ChangeFiles() as change:
                return PatchApprovalRequested(
                    call_id=request.call_id,
                    turn_id=request.turn_id,
                    changes=dict(change.changes),
                    reason=self.reason,
                    started_at_ms=started_at_ms,
                )
            case GainPermissions() as gain:
                return PermissionsRequested(
                    call_id=request.call_id,
                    turn_id=request.turn_id,
                    permissions=gain.extra,
                    cwd=gain.cwd,
                    reason=self.reason,
                    started_at_ms=started_at_ms,
                )

    def item(self, status: ItemProgress, stderr: str | None = None) -> _Item | None:
        """The piece of the turn that it is about; permissions are none."""
        match self.request.action if self.is_shown else None:
            case RunCommand() as run:
                return CommandItem(
                    id=self.request.call_id,
                    command=run.command,
                    cwd=run.cwd,
                    status=status,
                    source="agent",
                )
            case ChangeFiles() as change:
                return FileChangeItem(
                    id=self.request.call_id,
                    changes=dict(change.changes),
                    status=status,
                    auto_approved=False,
                    stdout=None if stderr is None else "",
                    stderr=stderr,
                )
            case _:
                return None


_Item = CommandItem | FileChangeItem
