"""An approver that follows a script, and the suite that every approver must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias, final

import trio
import trio.testing

from ..approvals import Approver
from ..protocol import ROOT, ApprovalDecision, ApprovalRequest, Denied, RunCommand

MakeApprover: TypeAlias = Callable[[], AbstractAsyncContextManager[Approver]]
"""Gives an approver that has not been asked anything."""
Answer: TypeAlias = Callable[[Approver, ApprovalRequest], ApprovalDecision]
"""Has an open question decided, and returns the decision."""

_PATIENCE: Final = 30.0
"""Seconds that a check may take; one that takes longer hangs."""
_MANY: Final = 20


@final
class ScriptedApprover:
    """Answers one question after another as the script says; after its end, no."""

    def __init__(self, answers: Iterable[ApprovalDecision] = ()) -> None:
        self._answers = list(answers)
        self.asked: Final = list[ApprovalRequest]()
        """All questions, in the order in which they came."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """See `codex_actors.approvals.Approver.approve`."""
        self.asked.append(request)
        decision = self._answers.pop(0) if self._answers else Denied("the script is over")
        await trio.lowlevel.checkpoint()
        return decision


async def check_approver(make_approver: MakeApprover, answer: Answer | None = None) -> None:
    """Check that an approver keeps the contract of `codex_actors.approvals.Approver`.

    Args:
        make_approver: Gives approvers to be checked.
        answer: Has an open question decided, for approvers that wait for somebody.

    Raises:
        AssertionError: what it does not keep.
        trio.TooSlowError: if it hangs.
    """
    checks = [_check_one, _check_many, _check_cancelled_before]
    if answer is not None:
        checks += [_check_cancelled, _check_independence]
    for check in checks:
        with trio.fail_after(_PATIENCE):
            async with make_approver() as approver:
                await check(approver, answer)


async def _check_one(approver: Approver, answer: Answer | None) -> None:
    """A question gets one decision, and asking is a checkpoint."""
    with trio.testing.assert_checkpoints():
        await _expect_decision(approver, answer, [_request(0)])


async def _check_many(approver: Approver, answer: Answer | None) -> None:
    """Questions that are open together get their own decisions, in whatever order."""
    await _expect_decision(approver, answer, [_request(number) for number in range(_MANY)])


async def _check_cancelled_before(approver: Approver, answer: Answer | None) -> None:
    """Who is cancelled asks nothing, and Cancelled is let through."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await approver.approve(_request(0))
    assert scope.cancelled_caught, "a cancelled asker was answered"
    await _expect_decision(approver, answer, [_request(1)])


async def _check_cancelled(approver: Approver, answer: Answer | None) -> None:
    """A question is taken back at once when its asker is cancelled, and others are answered."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(approver.approve, _request(0))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel(reason="the asker is gone")
    await _expect_decision(approver, answer, [_request(1)])


async def _check_independence(approver: Approver, answer: Answer | None) -> None:
    """A question that nobody answers keeps none from being answered."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(approver.approve, _request(0))
        await trio.testing.wait_all_tasks_blocked()
        await _expect_decision(approver, answer, [_request(1), _request(2)])
        nursery.cancel_scope.cancel(reason="enough")


async def _expect_decision(
    approver: Approver, answer: Answer | None, requests: Iterable[ApprovalRequest]
) -> None:
    got: dict[str, ApprovalDecision] = {}

    async def ask(request: ApprovalRequest) -> None:
        got[request.id] = await approver.approve(request)

    said: dict[str, ApprovalDecision] = {}
    asked = list(requests)
    async with trio.open_nursery() as nursery:
        for request in asked:
            nursery.start_soon(ask, request)
        if answer is not None:
            await trio.testing.wait_all_tasks_blocked()
            said = {request.id: answer(approver, request) for request in reversed(asked)}
    assert {request.id for request in asked} == set(got), "some were not answered"
    for decision in got.values():
        assert isinstance(decision, ApprovalDecision), f"{decision!r} is no decision"
    if answer is not None:
        assert said == got, "an asker got somebody else's answer"


def _request(number: int) -> ApprovalRequest:
    return ApprovalRequest(
        id=f"question {number}",
        agent=ROOT,
        thread_id="thread",
        turn_id="turn",
        call_id=f"call {number}",
        action=RunCommand(command=("make", str(number)), cwd="/", environment=""),
        why="it is not known to be safe",
        seconds=3600.0,
    )
