"""One child of a supervisor: what it is made from, one life of it, and its end."""

from __future__ import annotations

import math
from collections.abc import Coroutine
from typing import Any, Generic, Literal, TypeVar, final

import attrs
import trio

from ._deep import ungrouped
from ._errors import InvalidName, NotABehavior
from ._mailbox import Behavior, Cell, Exit, Mailbox
from ._restart import OnLimit, Restart

M = TypeVar("M")


def refuse(got: object) -> NotABehavior:
    """Return the error for a thing that is no behavior; a coroutine is disposed of."""
    error = NotABehavior(got)
    if isinstance(got, Coroutine):
        got.close()
    return error


def _check_behavior(_spec: object, _field: object, value: object) -> None:
    if not callable(value):
        raise refuse(value)


def _check_name(_spec: object, _field: object, value: str) -> None:
    if not value or "/" in value:
        raise InvalidName(value)


@final
@attrs.frozen(kw_only=True)
class ChildSpec(Generic[M]):
    """How to start a child, and what to do when it ends.

    Raises:
        InvalidName: if the name is empty or holds a slash.
        NotABehavior: if the behavior is, for example, already a coroutine.
    """

    name: str = attrs.field(validator=_check_name)
    """The last step of the child's path; unique among its living siblings."""
    behavior: Behavior[M] = attrs.field(validator=_check_behavior)
    restart: Restart = Restart.TRANSIENT
    grace: float = 5.0
    """Seconds between asking the child to stop and cancelling it."""
    mailbox_size: int | float = 64
    """Messages that may wait unread before `ActorRef.send` blocks."""
    on_limit: OnLimit = "escalate"
    """Past the restart limit, the supervisor crashes, or only this child ends."""


@final
@attrs.frozen(kw_only=True)
class CloseReport:
    """How a child took being stopped."""

    exit: Exit
    seconds: float
    """From being asked to being gone; 0 if it had ended before."""
    grace_ran_out: bool
    """Whether it had to be cancelled."""

    @property
    def failures(self) -> tuple[Exception, ...]:
        """Everything that went wrong at the end: clean-up steps, then the crash."""
        crash = self.exit.crash
        return self.exit.failures if crash is None else (*self.exit.failures, crash)


@final
@attrs.define(eq=False)
class Child:
    """A child as its supervisor sees it. Only the supervisor's tasks touch it."""

    spec: ChildSpec[Any]
    cell: Cell[Any]
    number: int
    """Counts the children of a supervisor: the older, the smaller."""
    begun: bool = False
    """Whether it has ever said that it is running; before that it does not exist."""
    pausing: bool = False
    asked_at: float | None = None
    end_by: float = math.inf
    """When it is cancelled, if it still runs."""
    crash: Exception | None = None
    """What its last incarnation raised."""
    ended: Literal["finished", "killed", "crashed"] = "killed"
    overran: bool = False
    report: CloseReport | None = None
    task: trio.lowlevel.Task | None = None
    """The one in which all its incarnations run."""
    settled: trio.Event | None = None
    """Set when it runs, or pauses again, or is gone; for whoever brings it up."""
    _scope: trio.CancelScope = attrs.field(init=False, factory=trio.CancelScope)

    @property
    def held(self) -> bool:
        """Whether a sibling's restart has brought it down, and will bring it up again."""
        return self.cell.held

    @held.setter
    def held(self, value: bool) -> None:
        self.cell.held = value

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop; nothing takes that back."""
        return self.asked_at is not None

    @property
    def brought_down(self) -> bool:
        """Whether it ended for a sibling's sake; one that was done by itself stays done."""
        done = self.ended == "finished" and self.spec.restart is not Restart.PERMANENT
        return self.held and not done

    def ask(self, end_by: float) -> None:
        """Ask it to stop, and have it cancelled at ``end_by`` (or earlier, if so told before)."""
        if self.asked_at is None:
            self.asked_at = trio.current_time()
        self.end_by = min(self.end_by, end_by)
        self.cell.inbox.close()
        self._scope.deadline = self.end_by
        self.resume()

    def kill(self, reason: str) -> None:
        """Stop it without asking."""
        # In this order: a closed mailbox would end a waiting behavior as if it were asked.
        self._scope.cancel(reason=reason)
        self.ask(trio.current_time())

    def hold(self, reason: str) -> None:
        """Bring its incarnation down, to be brought up again by `resume`."""
        self.held = True
        if not self.pausing:
            self._scope.cancel(reason=reason)

    def resume(self) -> None:
        """End its pause, if it is in one."""
        if self.pausing:
            self._scope.cancel(reason="the pause is over")

    async def run_incarnation(self) -> None:
        """Run the behavior once, and note how that ended."""
        self.crash, self.ended = None, "killed"
        leaving: BaseException | None = None
        self._scope = trio.CancelScope(deadline=self.end_by)
        try:
            with self._scope:
                await self.spec.behavior(Mailbox(self.cell), task_status=_Started(self))
            self.ended = "killed" if self._scope.cancelled_caught else "finished"
        except Exception as exc:  # noqa: BLE001 - the crash becomes the supervisor's decision
            self.crash, self.ended = exc, "crashed"
        except BaseExceptionGroup as group:
            # A nursery that was cancelled while one of its tasks crashed: the crash
            # is ours, the rest goes on to whoever cancelled.
            crash, rest = group.split(Exception)
            if crash is not None:
                self.crash, self.ended = crash, "crashed"
            assert rest is not None
            leaving = ungrouped(rest)
        finally:
            late = trio.current_time() >= self.end_by
            self.overran = late and self._scope.cancel_called
        if leaving is not None:
            raise leaving

    async def pause(self, seconds: float) -> None:
        """Wait to be restarted: until the time is over, or `resume`, or `ask`."""
        self.cell.abandon()
        self._scope = trio.CancelScope(deadline=trio.current_time() + seconds)
        self.pausing = True
        self.cell.status.set("restarting")
        self._settle()
        try:
            with self._scope:
                await trio.sleep_forever()
        finally:
            self.pausing = False

    async def pause_while_held(self) -> None:
        """Wait until a sibling's restart lets go; another may take hold before it woke."""
        while self.held and not self.stopping:
            await self.pause(math.inf)

    def bury(self) -> None:
        """Announce the end. Never raises."""
        self.report = self._report()
        self.cell.terminate(self.report.exit)
        self._settle()

    def mark_running(self) -> None:
        """Note that the behavior is ready for messages."""
        if isinstance(self.cell.status.get(), Exit):
            return
        self.begun = True
        self.cell.status.set("running")
        self._settle()

    def _settle(self) -> None:
        if self.settled is not None:
            self.settled.set()

    def _report(self) -> CloseReport:
        seconds = 0.0 if self.asked_at is None else trio.current_time() - self.asked_at
        return CloseReport(exit=self._exit(), seconds=seconds, grace_ran_out=self.overran)

    def _exit(self) -> Exit:
        failures = self.cell.failures
        if self.ended == "finished" and self.stopping:
            return Exit("stopped", failures=failures)
        return Exit(self.ended, self.crash, failures)


@final
@attrs.frozen
class _Started(trio.TaskStatus[None]):
    """What a behavior calls ``started`` on; calling it again changes nothing."""

    _child: Child

    def started(self, value: None = None) -> None:  # noqa: ARG002 - as the protocol has it
        self._child.mark_running()
