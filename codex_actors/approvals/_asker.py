"""Asking on behalf of one turn: who follows the agent is told, and the turn lets others run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import final

import attrs
import trio

from ..core import explain_denial
from ..protocol import (
    Aborted,
    Action,
    AgentPath,
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    Choice,
    Denied,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    TimedOut,
    WarningRaised,
)
from ._questions import Question
from ._tree_approvals import FAILED, TreeApprovals

_CHOICES: tuple[Choice, ...] = ("approve", "approve_for_session", "deny", "abort")
_WITH_RULE: tuple[Choice, ...] = (*_CHOICES[:2], "approve_with_rule", *_CHOICES[2:])


@final
@attrs.define(eq=False, kw_only=True)
class Asker:
    """Asks for one turn of one agent."""

    approvals: TreeApprovals
    agent: AgentPath
    thread_id: str
    turn_id: str
    announce: Callable[[EventMsg], None]
    waiting: Callable[[], AbstractAsyncContextManager[None]]
    """Around what waits for a person."""
    abort: Callable[[], None]
    """Ends the turn; whoever asks is cancelled then."""
    tell_model: Callable[[str], None]
    """Adds a developer's message to the conversation."""

    def request(
        self,
        call_id: str,
        action: Action,
        why: str,
        *,
        justification: str | None = None,
        rule: tuple[str, ...] | None = None,
    ) -> ApprovalRequest:
        """Return a question that nobody has asked yet."""
        return ApprovalRequest(
            id=self.approvals.new_id(),
            agent=self.agent,
            thread_id=self.thread_id,
            turn_id=self.turn_id,
            call_id=call_id,
            action=action,
            why=why,
            justification=justification,
            choices=_CHOICES if rule is None else _WITH_RULE,
            rule=rule,
            asked_at=self.approvals.now(),
            seconds=self.approvals.seconds,
        )

    def knows(self, question: Question) -> bool:
        """Whether the very same was allowed for the session."""
        return self.approvals.grants.cover(question.request)

    async def ask(self, question: Question) -> ApprovalDecision:
        """Have a question decided, and take note of what else the answer says.

        Returns:
            A yes, or a no.

        Cancellation: the question is taken back. An answer that ends the turn waits for that.
        """
        decision: ApprovalDecision = Aborted()  # until somebody has decided otherwise
        self.announce(question.event())
        self._begin(question)
        try:
            decision = await self._decide(question)
        finally:
            if not is_yes(decision):
                self._decline(question, decision)
        return decision

    async def _decide(self, question: Question) -> ApprovalDecision:
        async with self.waiting():
            decision = await self.approvals.decide(question.request)
            if isinstance(decision, Aborted):
                # In here: a turn that ends need not wait for its place among those that run.
                self.abort()
                await trio.sleep_forever()
        match decision:
            case ApprovedForSession() if question.is_shown:
                self.approvals.grants.add(question.request)
            case ApprovedWithRule(prefix):
                await self._allow(prefix)
            case _:
                pass
        return decision

    async def _allow(self, prefix: tuple[str, ...]) -> None:
        is_known = self.approvals.rules.has_added(prefix)
        problem = await self.approvals.allow(prefix)
        if problem is None and not is_known:
            saved = json.dumps(prefix, ensure_ascii=False)
            self.tell_model(f"Approved command prefix saved:\n- {saved}")
        elif problem is not None:
            self.announce(WarningRaised(f"Failed to apply execpolicy amendment: {problem}"))

    def _begin(self, question: Question) -> None:
        item = question.item("in_progress")
        if item is not None:
            self.announce(
                ItemStarted(
                    thread_id=self.thread_id,
                    turn_id=self.turn_id,
                    item=item,
                    started_at_ms=int(question.request.asked_at * 1000),
                )
            )

    def _decline(self, question: Question, decision: ApprovalDecision) -> None:
        item = question.item("declined", f"patch {why_not(decision)}")
        if item is not None:
            self.announce(
                ItemCompleted(
                    thread_id=self.thread_id,
                    turn_id=self.turn_id,
                    item=item,
                    started_at_ms=int(question.request.asked_at * 1000),
                    completed_at_ms=int(self.approvals.now() * 1000),
                )
            )


def is_yes(decision: ApprovalDecision) -> bool:
    """Whether an action may be done. Permissions alone are no yes to an action."""
    return isinstance(decision, Approved | ApprovedForSession | ApprovedWithRule)


def why_not(decision: ApprovalDecision) -> str:
    """Return what the model is told of a no."""
    match decision:
        case Denied(reason):
            return explain_denial(reason)
        case TimedOut(seconds):
            return f"rejected: nobody has answered within {seconds:g} s"
        case Aborted():
            return "aborted by user"
        case _:
            return FAILED.reason
