"""Every approver passes the suite, and the suite has teeth."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from codex_actors.approvals import Approver, Inbox, PersonApprover, PolicyApprover
from codex_actors.protocol import (
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    ApprovedWithRule,
    Denied,
    RunCommand,
    TimedOut,
)
from codex_actors.testing import ScriptedApprover, check_approver
from codex_actors.testing._approvers import Answer, MakeApprover

from .test_inbox import request


def maker(make: Callable[[], Approver]) -> MakeApprover:
    @asynccontextmanager
    async def open_approver() -> AsyncGenerator[Approver, None]:
        await trio.lowlevel.checkpoint()
        yield make()

    return open_approver


def answer_in(find: Callable[[Approver], Inbox]) -> Answer:
    def answer(approver: Approver, question: ApprovalRequest) -> ApprovalDecision:
        decision = Denied(f"no {question.id}")
        find(approver).answer(question.id, decision)
        return decision

    return answer


def inbox_of(approver: Approver) -> Inbox:
    match approver:
        case Inbox():
            return approver
        case PersonApprover(inbox=inbox):
            return inbox
        case PolicyApprover(otherwise=inner):
            return inbox_of(inner)
        case _:
            raise TypeError(approver)


@pytest.mark.parametrize(
    "make",
    [
        Inbox,
        lambda: PersonApprover(inbox=Inbox(), seconds=60),
        lambda: PolicyApprover(rule=lambda _: None),
    ],
)
async def test_those_that_wait_keep_the_contract(make: Callable[[], Approver]) -> None:
    await check_approver(maker(make), answer_in(inbox_of))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PolicyApprover(rule=lambda _: Denied("not today")),
        lambda: ScriptedApprover([Approved(), ApprovedWithRule(("make",))]),
    ],
)
async def test_those_that_decide_keep_the_contract(make: Callable[[], Approver]) -> None:
    await check_approver(maker(make))


@attrs.define(eq=False)
class _Hasty:
    """Does not let others run."""

    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        return Approved()


@attrs.define(eq=False)
class _Forgetful:
    """Answers with nothing."""

    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        await trio.lowlevel.checkpoint()
        return None  # type: ignore[return-value] # the bug


@attrs.define(eq=False)
class _Deaf:
    """Keeps asking for somebody who is gone."""

    async def approve(self, _: ApprovalRequest) -> ApprovalDecision:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        return Approved()


@pytest.mark.parametrize("make", [_Hasty, _Forgetful, _Deaf])
async def test_the_suite_has_teeth(make: Callable[[], Approver]) -> None:
    with pytest.raises((AssertionError, ExceptionGroup)):
        await check_approver(maker(make))


@attrs.define(eq=False)
class _Serial:
    """Has one question answered after the other."""

    inner: Inbox = attrs.field(factory=Inbox)
    busy: trio.Semaphore = attrs.field(factory=lambda: trio.Semaphore(1))

    async def approve(self, question: ApprovalRequest) -> ApprovalDecision:
        async with self.busy:
            return await self.inner.approve(question)


async def test_the_suite_finds_one_that_answers_one_after_the_other() -> None:
    def find(approver: Approver) -> Inbox:
        assert isinstance(approver, _Serial)
        return approver.inner

    with pytest.raises((LookupError, ExceptionGroup)):
        await check_approver(maker(_Serial), answer_in(find))


async def test_a_person_has_no_more_time_than_the_question(autojump_clock: MockClock) -> None:
    inbox = Inbox()
    began = trio.current_time()

    assert TimedOut(5) == await PersonApprover(inbox=inbox, seconds=60).approve(request(seconds=5))
    assert TimedOut(60) == await PersonApprover(inbox=inbox, seconds=60).approve(request())
    assert began + 65 == trio.current_time()


async def test_a_rule_decides_what_it_knows_and_leaves_the_rest() -> None:
    def rule(question: ApprovalRequest) -> ApprovalDecision | None:
        runs = isinstance(question.action, RunCommand)
        return Approved() if runs and question.agent.depth else None

    otherwise = ScriptedApprover([Denied()])
    approver = PolicyApprover(rule=rule, otherwise=otherwise)

    assert Approved() == await approver.approve(request())
    assert [] == otherwise.asked
    assert Denied() == await attrs.evolve(approver, rule=lambda _: None).approve(request("q2"))
    assert [request("q2")] == otherwise.asked
