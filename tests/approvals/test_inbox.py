from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_actors.approvals import Inbox, NotAsked
from codex_actors.protocol import (
    ROOT,
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    Denied,
    RunCommand,
    TimedOut,
)


def request(name: str = "q1", seconds: float | None = None) -> ApprovalRequest:
    return ApprovalRequest(
        id=name,
        agent=ROOT.child("worker"),
        thread_id="thread",
        turn_id="turn",
        call_id="call",
        action=RunCommand(command=("make",), cwd="/work", environment="e"),
        why="it asks for more than the sandbox permits",
        seconds=seconds,
    )


async def ask(inbox: Inbox, question: ApprovalRequest, into: list[ApprovalDecision]) -> None:
    into.append(await inbox.approve(question))


async def test_a_question_is_open_exactly_while_its_asker_waits(nursery: trio.Nursery) -> None:
    inbox, got = Inbox(), list[ApprovalDecision]()
    nursery.start_soon(ask, inbox, request(), got)
    await wait_all_tasks_blocked()

    assert (request(),) == inbox.questions.get()
    inbox.answer("q1", Denied())
    assert () == inbox.questions.get()
    await wait_all_tasks_blocked()
    assert [Denied()] == got


async def test_the_first_answer_holds(nursery: trio.Nursery) -> None:
    inbox, got = Inbox(), list[ApprovalDecision]()
    nursery.start_soon(ask, inbox, request(), got)
    await wait_all_tasks_blocked()
    inbox.answer("q1", Denied())

    with pytest.raises(NotAsked, match="'q1'"):
        inbox.answer("q1", Approved())
    await wait_all_tasks_blocked()
    assert [Denied()] == got
    with pytest.raises(NotAsked):
        inbox.answer("q1", Approved())


async def test_nobody_answers_in_time(autojump_clock: MockClock) -> None:
    inbox = Inbox()

    assert TimedOut(30.0) == await inbox.approve(request(seconds=30.0))
    assert 30.0 == trio.current_time()
    assert () == inbox.questions.get()


async def test_an_answer_in_the_moment_when_time_is_up_counts(autojump_clock: MockClock) -> None:
    inbox, got = Inbox(), list[ApprovalDecision]()

    async def answer() -> None:
        await trio.sleep(30.0)
        if inbox.questions.get():
            inbox.answer("q1", Approved())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, inbox, request(seconds=30.0), got)
        nursery.start_soon(answer)

    assert got in ([Approved()], [TimedOut(30.0)])
    assert () == inbox.questions.get()


async def test_a_cancelled_asker_takes_the_question_back(nursery: trio.Nursery) -> None:
    inbox, got = Inbox(), list[ApprovalDecision]()
    async with trio.open_nursery() as askers:
        askers.start_soon(ask, inbox, request("q1"), got)
        nursery.start_soon(ask, inbox, request("q2"), got)
        await wait_all_tasks_blocked()
        askers.cancel_scope.cancel(reason="the turn was interrupted")

    assert (request("q2"),) == inbox.questions.get()
    with pytest.raises(NotAsked):
        inbox.answer("q1", Approved())
    inbox.answer("q2", Approved())
    await wait_all_tasks_blocked()
    assert [Approved()] == got
