"""The open questions of one tree, where whoever may answer finds them."""

from __future__ import annotations

import math
from typing import Protocol, final

import trio

from ..actors import Watch, WatchCell
from ..protocol import ApprovalDecision, ApprovalRequest, TimedOut
from ._errors import NotAsked


class Approver(Protocol):
    """Decides about actions of agents. Approvers compose by wrapping one another."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Answer a question.

        Raising denies: who asks fails closed.

        Cancellation: no answer is needed any more.
        """
        ...


@final
class Inbox:
    """Holds each question exactly while its asker waits. An `Approver`, to be answered by others."""

    def __init__(self) -> None:
        self._questions = WatchCell[tuple[ApprovalRequest, ...]](())
        self._answers: dict[str, ApprovalDecision] = {}
        self._askers: dict[str, trio.Event] = {}

    @property
    def questions(self) -> Watch[tuple[ApprovalRequest, ...]]:
        """Those that wait for an answer, in the order in which they were asked."""
        return self._questions

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Wait for somebody's `answer`, no longer than ``request.seconds``; then it is a no.

        Cancellation: the question is taken back.
        """
        asker = self._askers[request.id] = trio.Event()
        self._questions.set((*self._questions.get(), request))
        try:
            seconds = math.inf if request.seconds is None else request.seconds
            with trio.move_on_after(seconds):
                await asker.wait()
            # An answer in the very moment in which time is up counts.
            return self._answers.get(request.id, TimedOut(seconds))
        finally:
            del self._askers[request.id]
            self._answers.pop(request.id, None)
            self._take_back(request.id)

    def answer(self, request_id: str, decision: ApprovalDecision) -> None:
        """Answer an open question; the first answer holds. Not a checkpoint.

        Raises:
            NotAsked: if nobody waits for the answer: there is no such question, it was
                answered, its time is over, or its turn has ended.
        """
        asker = self._askers.get(request_id)
        if asker is None or asker.is_set():
            raise NotAsked(request_id)
        self._answers[request_id] = decision
        asker.set()
        self._take_back(request_id)

    def _take_back(self, request_id: str) -> None:
        left = tuple(each for each in self._questions.get() if each.id != request_id)
        if left != self._questions.get():
            self._questions.set(left)
