"""Asks the person at the terminal what agents may do: questions in, answers out."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol, final

import attrs
import trio

from ..actors import Watch
from ..approvals import NotAsked
from ..core import quote_word
from ..protocol import (
    Aborted,
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    Denied,
    GrantedPermissions,
    TimedOut,
)
from ._ask_frame import Frame, Sheet, lay_out
from ._ask_stage import Stage, Verdict
from ._ask_state import Asking, press
from ._ask_words import brief, headline
from ._keyboard import Keyboard, open_keyboard
from ._visible import visible

CLOSE: Final = 1.0
"""Seconds before its end in which a question that nobody waits on any more is out of time: it
is waited on by another clock."""
_NOBODY: Final = Denied("rejected: nobody can be asked any more")


class Inquiries(Protocol):
    """Where questions are, and answers go; a tree of agents, for one."""

    @property
    def questions(self) -> Watch[tuple[ApprovalRequest, ...]]:
        """Those that wait for an answer."""
        ...

    def answer(self, request_id: str, decision: ApprovalDecision) -> None:
        """Answer one.

        Raises:
            NotAsked: if nobody waits for it any more.
        """
        ...


@final
class Interviewer:
    """Asks one question after the other.

    Args:
        inquiries: Where the questions are.
        stage: Shows them.
        stdin: File descriptor of the terminal whose keys answer.
        nicknames: What agents are called besides, by thread id.
        clock: Tells the time, in Unix seconds.
    """

    def __init__(
        self,
        inquiries: Inquiries,
        stage: Stage,
        *,
        stdin: int = 0,
        nicknames: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._inquiries = inquiries
        self._stage = stage
        self._stdin = stdin
        self._nicknames = {} if nicknames is None else nicknames
        self._clock = clock
        self._asking: Asking | None = None
        self._sheet: Sheet | None = None

    async def run(self) -> None:
        """Ask until cancelled.

        If the terminal goes away, everything is denied that is asked.

        Cancellation: the terminal is as it was before; questions stay open.
        """
        try:
            while True:
                await self._inquiries.questions.wait_value(bool)
                try:
                    with open_keyboard(self._stdin) as keyboard:
                        await self._ask_all(keyboard)
                except trio.BrokenResourceError:
                    await self._deny_all()
        finally:
            self._stage.drop()

    async def _deny_all(self) -> None:
        for request in self._inquiries.questions.get():
            if self._answer(request, _NOBODY):
                told = f"denied, since nobody can be asked any more: {_about(request)}"
                await self._stage.hide(Verdict("no", told))

    async def _ask_all(self, keyboard: Keyboard) -> None:
        """Ask until nothing is asked."""
        with trio.open_signal_receiver(signal.SIGCONT) as continued:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._take_again, keyboard, continued)
                done = 0
                while waiting := self._inquiries.questions.get():
                    self._turn_to(waiting, done)
                    await self._ask(waiting[0], done, keyboard)
                    done += 1
                nursery.cancel_scope.cancel(reason="nothing is asked any more")

    def _turn_to(self, waiting: Sequence[ApprovalRequest], done: int) -> None:
        request = waiting[0]
        self._asking = Asking(request=request, number=done + 1, total=done + len(waiting))
        self._sheet = Sheet(request, self._nicknames.get(request.thread_id))

    async def _ask(self, request: ApprovalRequest, done: int, keyboard: Keyboard) -> None:
        decision = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow, request.id, done, nursery.cancel_scope)
            decision = await self._decide(keyboard)
            nursery.cancel_scope.cancel(reason="there is an answer")
        if decision is None or not self._answer(request, decision):
            await self._stage.hide(taken_back(request, self._clock()))
        else:
            await self._stage.hide(verdict_of(request, decision))

    async def _follow(self, request_id: str, done: int, asked: trio.CancelScope) -> None:
        """Count the questions, and stop asking what is not asked any more."""
        async with self._inquiries.questions.changes() as changes:
            async for waiting in changes:
                if all(request.id != request_id for request in waiting):
                    asked.cancel(reason="nobody waits for the answer")
                    return
                assert self._asking is not None
                self._asking = attrs.evolve(self._asking, total=done + len(waiting))

    async def _decide(self, keyboard: Keyboard) -> ApprovalDecision:
        try:
            await self._stage.show(self._look)
            await keyboard.wait_quiet()
            assert self._asking is not None
            self._asking = attrs.evolve(self._asking, mode="answer")
            while True:
                page = await self._stage.show(self._look)
                after = press(self._asking, await keyboard.read(), page)
                if not isinstance(after, Asking):
                    return after
                self._asking = after
        except trio.BrokenResourceError:
            return _NOBODY

    def _look(self, width: int, height: int, now: float) -> Frame:
        assert self._asking is not None
        assert self._sheet is not None
        return lay_out(self._asking, self._sheet, width=width, height=height, now=now)

    async def _take_again(self, keyboard: Keyboard, continued: AsyncIterable[int]) -> None:
        """Go on after the program was stopped: the shell had the terminal in between."""
        async for _ in continued:
            with suppress(trio.BrokenResourceError):  # who reads keys finds that out, too
                keyboard.take()
                keyboard.forget()
                await self._stage.renew()
                await self._stage.show(self._look)

    def _answer(self, request: ApprovalRequest, decision: ApprovalDecision) -> bool:
        """Tell whether the answer came in time."""
        try:
            self._inquiries.answer(request.id, decision)
        except NotAsked:
            return False
        return True


def taken_back(request: ApprovalRequest, now: float) -> Verdict:
    """Return what is said of a question that nobody waits on any more."""
    if request.seconds is not None and now > request.asked_at + request.seconds - CLOSE:
        return Verdict("gone", f"denied, since nobody answered in time: {_about(request)}")
    return Verdict("gone", f"not asked any more: {_about(request)}")


def verdict_of(request: ApprovalRequest, decision: ApprovalDecision) -> Verdict:
    """Return what is said of an answer."""
    match decision:
        case Approved():
            return Verdict("yes", f"approved once: {_about(request)}")
        case ApprovedForSession() | GrantedPermissions(scope="session"):
            return Verdict("yes", f"approved for the session: {_about(request)}")
        case ApprovedWithRule(prefix):
            rule = brief(" ".join(map(quote_word, prefix)))
            return Verdict("yes", f"approved with a rule for {rule}: {_about(request)}")
        case GrantedPermissions():
            return Verdict("yes", f"approved for the turn: {_about(request)}")
        case Aborted():
            return Verdict("no", f"denied, and the turn ends: {_about(request)}")
        case Denied() | TimedOut():
            return Verdict("no", f"denied: {_about(request)}{_because(decision)}")


def _because(decision: Denied | TimedOut) -> str:
    if isinstance(decision, TimedOut) or decision in (Denied(), _NOBODY):
        return ""
    return f": {visible(decision.reason)}"


def _about(request: ApprovalRequest) -> str:
    return f"{headline(request.action)} (for {request.agent})"
