"""Approvers that compose by wrapping one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import attrs
import trio

from ..protocol import ApprovalDecision, ApprovalRequest
from ._inbox import Approver, Inbox


@final
@attrs.frozen(kw_only=True)
class PolicyApprover:
    """Answers by a program's own rule; what the rule says nothing about, another approver.

    ``PolicyApprover(rule=lambda _: Denied("not today"))`` denies everything.
    """

    rule: Callable[[ApprovalRequest], ApprovalDecision | None]
    """Answers a question, or None. It must not wait."""
    otherwise: Approver = attrs.field(factory=Inbox)
    """Asked about the rest. Without, the rest is left to whoever sees the tree's questions."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """See `Approver.approve`."""
        await trio.lowlevel.checkpoint()
        decision = self.rule(request)
        return await self.otherwise.approve(request) if decision is None else decision


@final
@attrs.frozen(kw_only=True)
class PersonApprover:
    """Waits for a person's answer, but not for ever."""

    inbox: Inbox
    """Where the person finds the question."""
    seconds: float
    """How long; a question that allows less time is waited for so long."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """See `Approver.approve`."""
        seconds = self.seconds if request.seconds is None else min(self.seconds, request.seconds)
        return await self.inbox.approve(attrs.evolve(request, seconds=seconds))
