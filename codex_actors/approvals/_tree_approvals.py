"""Where all questions of one tree are decided."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol, final

import attrs
import trio

from ..protocol import ApprovalDecision, ApprovalRequest, Denied
from ._amend import add_allow_rule
from ._errors import NotAsked, RulesError
from ._grants import Grants
from ._inbox import Approver, Inbox
from ._rulebook import RuleBook

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 3
"""Rounds of Trio's loop within which who waits for nothing has decided."""
FAILED: Final = Denied("approval request failed")
"""The answer where there is none that makes sense; in the reference's words."""


class Hook(Protocol):
    """Looks at questions before anybody is asked."""

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Answer a question; None: let others do so.

        Cancellation: no answer is needed any more.
        """
        ...


@final
@attrs.define(eq=False, kw_only=True)
class TreeApprovals:
    """What the guards of one tree have in common."""

    rules: RuleBook
    home: str | None
    """Where rules are written that come with an answer; None: nowhere."""
    approver: Approver | None
    """Who answers, unless somebody is quicker who sees the inbox."""
    seconds: float
    """How long an answer is waited for."""
    new_id: Callable[[], str]
    now: Callable[[], float]
    """Unix time in seconds."""
    secret: bytes
    """Makes fingerprints of environments worthless to others."""
    hooks: tuple[Hook, ...] = ()
    inbox: Inbox = attrs.field(factory=Inbox)
    grants: Grants = attrs.field(factory=Grants)

    def fingerprint(self, environment: Mapping[str, str]) -> str:
        """Return what tells two environments apart, and says nothing about either."""
        digest = hashlib.blake2b(key=self.secret, digest_size=16)
        for name, value in sorted(environment.items()):
            digest.update(repr((name, value)).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        """Have a question answered: by a hook, by the approver, or by whoever sees the inbox.

        An approver that fails denies; one that hangs is left when time is up. What it decides at
        once, as by a rule, nobody sees in the inbox.

        Cancellation: the question is taken back.
        """
        for hook in self.hooks:
            decision = await hook.decide(request)
            if decision is not None:
                return decision
        if self.approver is None:
            return await self.inbox.approve(request)
        first: list[ApprovalDecision] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._approve, self.approver, request, first, name="approver")
            for _ in range(_AT_ONCE):
                await trio.lowlevel.checkpoint()
            decision = first[0] if first else await self.inbox.approve(request)
            nursery.cancel_scope.cancel(reason="the question is answered")
        return decision

    async def allow(self, prefix: Sequence[str]) -> str | None:
        """Allow commands that begin like this, for good; return what is wrong with that.

        In this tree it holds at once, also if it cannot be written down.

        Cancellation: it may have been written down.
        """
        if not prefix:
            await trio.lowlevel.checkpoint()
            return "the rule was not added: it names no command"
        self.rules.allow(prefix)
        if self.home is None:
            await trio.lowlevel.checkpoint()
            return None
        try:
            await add_allow_rule(self.home, prefix)
        except (RulesError, ValueError) as error:
            return str(error)
        return None

    async def _approve(
        self, approver: Approver, request: ApprovalRequest, first: list[ApprovalDecision]
    ) -> None:
        decision = await ask_safely(approver, request)
        first.append(decision)
        with suppress(NotAsked):  # somebody else was quicker, or it was never shown
            self.inbox.answer(request.id, decision)


async def ask_safely(approver: Approver, request: ApprovalRequest) -> ApprovalDecision:
    """Return what an approver decides; one that fails has denied.

    Cancellation: cancels the approver.
    """
    try:
        decision = await approver.approve(request)
    except Exception:
        # Whatever a program's own approver raises, nothing may be allowed by that.
        logger.exception("the approver failed; the answer is no")
        return FAILED
    if isinstance(decision, ApprovalDecision):
        return decision
    logger.error("the approver answered with %r; the answer is no", type(decision).__name__)
    return FAILED
