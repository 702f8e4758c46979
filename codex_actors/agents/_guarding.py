"""What agents may do: joins their turns to those who decide."""

from __future__ import annotations

import os.path
import secrets
from functools import partial
from typing import TYPE_CHECKING

import trio

from ..approvals import Approver, Asker, NotAsked, RuleBook, TreeApprovals, TurnGuard, load_rules
from ..config import find_rule_directories
from ..core import Entry, ExecRules, Steered
from ..protocol import (
    Accepted,
    ApprovalRequest,
    Decide,
    GuideRules,
    Refused,
    Settings,
    Verdict,
    developer_message,
)
from ._services import AgentServices
from ._slots import Slot

if TYPE_CHECKING:
    from ._commons import Commons
    from ._desk import Desk
    from ._thread import Thread


def begin_approvals(
    settings: Settings, services: AgentServices, approver: Approver | None
) -> TreeApprovals:
    """Return who decides in a tree that begins. Nothing is read yet."""
    return TreeApprovals(
        rules=RuleBook(
            load=services.load_rules or partial(_load_rules, settings),
            shells=(settings.shell,) if os.path.isabs(settings.shell) else (),
        ),
        home=None if settings.ephemeral else settings.home,
        approver=approver,
        seconds=settings.deadlines.approval,
        new_id=services.new_id,
        now=services.now,
        secret=secrets.token_bytes(),
    )


async def _load_rules(settings: Settings, cwd: str) -> ExecRules:
    guides = settings.guides or GuideRules()
    find = partial(find_rule_directories, guides, home=settings.home, cwd=cwd)
    return await load_rules(await trio.to_thread.run_sync(find))


def guard_for(thread: Thread, turn_id: str, slot: Slot) -> TurnGuard:
    """Return what guards the calls of one turn."""
    desk = thread.commons.desks[thread.id]
    asker = Asker(
        approvals=thread.commons.approvals,
        agent=thread.path,
        thread_id=thread.id,
        turn_id=turn_id,
        announce=thread.hear,
        waiting=slot.waiting,
        abort=partial(_end_turn, desk),
        tell_model=partial(_tell_model, desk),
    )
    return TurnGuard(settings=thread.settings, asker=asker)


def _end_turn(desk: Desk, by: str = "user") -> None:
    desk.fence = by
    desk.interrupt(by)


def _tell_model(desk: Desk, text: str) -> None:
    if desk.run is not None:
        desk.run.post(Steered((Entry(developer_message(text)),), quiet=True))


def answer_question(commons: Commons, desk: Desk, op: Decide) -> Verdict:
    """Answer an agent's question by its id, or by that of its call."""
    inbox = commons.approvals.inbox
    for question in inbox.questions.get():
        if _is_meant(question, desk, op.id):
            inbox.answer(question.id, op.decision)
            return Accepted()
    return Refused("not_asked", str(NotAsked(op.id)))


def _is_meant(question: ApprovalRequest, desk: Desk, name: str) -> bool:
    return name in (question.id, question.call_id) and question.thread_id == desk.thread_id
