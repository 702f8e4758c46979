"""Nurseries that restart: the only place where a crash is caught."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar, assert_never, final

import attrs
import trio

from ._child import Child, ChildSpec, CloseReport, refuse
from ._deep import effective_deadline, is_cancellation, ungrouped
from ._errors import (
    ActorTerminated,
    BufferTooSmall,
    NameTaken,
    NeverStarted,
    NotAChild,
    OwnEnd,
    RestartLimitExceeded,
    SupervisorClosing,
)
from ._mailbox import ActorRef, Cell, Exit
from ._regroup import Regroup
from ._restart import Decision, Restarting, RestartLimit, Strategy, decide, present_series

M = TypeVar("M")

HEADROOM = 0.9
"""The part of its own remaining time that a supervisor gives its children to stop."""


@final
@attrs.frozen(kw_only=True)
class SupervisorStatistics:
    """What `Supervisor.statistics` returns."""

    children: tuple[str, ...]
    """Names of the living, the oldest first."""
    restarts: int
    """Of all its children, since it was opened."""
    closing: bool
    """Whether it has begun to close, and so starts nobody."""


@final
class Supervisor:
    """Starts actors, and starts them again. Made by `open_supervisor`."""

    path: str
    """The path of its children without their names."""

    def __init__(
        self,
        path: str,
        nursery: trio.Nursery,
        limit: RestartLimit,
        strategy: Strategy,
        exits: trio.MemorySendChannel[ActorRef[Any]] | None,
    ) -> None:
        self.path = path
        self._nursery = nursery
        self._limit = limit
        self._strategy = strategy
        self._exits = exits
        self._regroup = Regroup(nursery, strategy)
        self._children: dict[str, Child] = {}
        self._born = 0
        self._restarts = 0
        self._closing = False
        self._crash: RestartLimitExceeded | None = None

    def __repr__(self) -> str:
        return f"<Supervisor {self.path} of {len(self._children)}>"

    async def start(self, spec: ChildSpec[M]) -> ActorRef[M]:
        """Start a child and wait until it says that it is running.

        Raises:
            NameTaken: if a child with that name is alive.
            ActorTerminated: if the child was stopped before it was running.
            NeverStarted: if the behavior returned without saying so.
            NotABehavior: if ``spec`` is not a `ChildSpec`; the error shows how to write it.
            SupervisorClosing: if the supervisor is being left, or was.
            Exception: whatever the behavior raised before it was running.

        Cancellation:
            The start-up is cancelled as well. It is waited for, at most its grace.
        """
        self._check(spec)
        child = self._adopt(spec)
        begun = False
        try:
            status = await child.cell.status.wait_value(lambda status: status != "starting")
            begun = True
        finally:
            if not begun:
                await _abort_start(child)
        if isinstance(status, Exit) and not child.begun:
            raise self._stillborn(child, status)
        return ActorRef(child.cell)

    async def stop(self, ref: ActorRef[Any]) -> CloseReport:
        """Ask a child to stop, give it its grace, then cancel it; return how it went.

        Stopping a child that has ended is fine. A child that waits to be restarted
        ends at once, and its unread messages with it.

        Raises:
            OwnEnd: if the caller is in the child itself, or in what the child has
                started, and so would wait for its own end.
            NotAChild: if the actor was not started by this supervisor.

        Cancellation:
            Ends the waiting, not the stopping: that is the supervisor's work.
        """
        child = self._children.get(ref._cell.path.rpartition("/")[2])
        if child is not None and child.cell is ref._cell:
            if _is_inside(child):
                raise OwnEnd(ref.path)
            child.ask(trio.current_time() + child.spec.grace)
            await ref.wait_terminated()
            assert child.report is not None
            return child.report
        ending = ref.status.get()
        if not isinstance(ending, Exit):
            raise NotAChild(ref.path, self.path)
        await trio.lowlevel.checkpoint()
        return CloseReport(exit=ending, seconds=0.0, grace_ran_out=False)

    def statistics(self) -> SupervisorStatistics:
        """Return a snapshot for people to look at."""
        return SupervisorStatistics(
            children=tuple(self._children), restarts=self._restarts, closing=self._closing
        )

    def _check(self, spec: object) -> None:
        if not isinstance(spec, ChildSpec):
            raise refuse(spec)
        if self._closing:
            raise SupervisorClosing(self.path)
        if spec.name in self._children:
            raise NameTaken(self.path, spec.name)

    def _adopt(self, spec: ChildSpec[M]) -> Child:
        inbox, outbox = trio.open_memory_channel[Any](spec.mailbox_size)
        cell: Cell[M] = Cell(f"{self.path}/{spec.name}", spec.grace, inbox, outbox)
        self._born += 1
        child = Child(spec, cell, self._born)
        self._children[spec.name] = child
        self._nursery.start_soon(self._run, child, name=cell.path)
        return child

    def _stillborn(self, child: Child, ending: Exit) -> Exception:
        if ending.crash is not None:
            return ending.crash
        if ending.reason == "finished":
            return NeverStarted(child.cell.path)
        if child.stopping and not self._closing:
            return ActorTerminated(child.cell.path, "was stopped before it was running")
        return SupervisorClosing(self.path)

    async def _run(self, child: Child) -> None:
        """Be the one task of a child, through all its incarnations."""
        child.task = trio.lowlevel.current_task()
        try:
            while True:
                await child.run_incarnation()
                match self._decide(child):
                    case Restarting(delay):
                        if not await self._wait_restart(child, delay):
                            return
                    case "stop" | "end":
                        return
                    case "escalate":
                        raise self._escalate(child)
                    case _ as never:
                        assert_never(never)
        finally:
            self._bury(child)

    @trio.lowlevel.enable_ki_protection
    def _bury(self, child: Child) -> None:
        """Announce the end. Never raises: nobody may listen any more."""
        del self._children[child.spec.name]
        child.bury()
        if self._exits is not None and child.begun:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                self._exits.send_nowait(ActorRef(child.cell))

    def _decide(self, child: Child) -> Decision:
        stopping = child.stopping or not child.begun or _is_cancelled()
        if child.brought_down and not stopping:
            return Restarting(math.inf)
        return decide(
            child.spec.restart,
            crashed=child.crash is not None,
            stopping=stopping,
            restarted_at=child.cell.restarted_at,
            now=trio.current_time(),
            limit=self._limit,
            on_limit=child.spec.on_limit,
        )

    async def _wait_restart(self, child: Child, delay: float) -> bool:
        """Wait until the child's next incarnation is due; return whether it is wanted."""
        if child.held:
            await child.pause_while_held()
        else:
            await self._back_off(child, delay)
        self._restarts += not child.stopping
        return not child.stopping

    async def _back_off(self, child: Child, delay: float) -> None:
        """Wait for a restart that counts, alone or with the siblings it concerns."""
        now = trio.current_time()
        series = present_series(child.cell.restarted_at, now=now, limit=self._limit)
        if self._strategy is Strategy.ONE_FOR_ONE:
            await child.pause(delay)
        else:
            self._regroup.bring_down(child, self._children, delay)
            await child.pause_while_held()
        child.cell.restarted_at = (*series, trio.current_time())

    def _escalate(self, child: Child) -> Exception:
        """Return what ends the nursery; `_leaving` makes the one error of it."""
        self._closing = True
        self._crash = self._exceeded(child)
        return child.crash or self._exceeded(child)

    def _exceeded(self, child: Child) -> RestartLimitExceeded:
        return RestartLimitExceeded(child.cell.path, self._limit.max_restarts, self._limit.within)

    def _ask_all(self) -> None:
        """Ask all children to stop, the youngest first, under one deadline."""
        self._closing = True
        self._regroup.give_up()
        children = tuple(reversed(self._children.values()))
        end_by = _end_by(max((child.spec.grace for child in children), default=0.0))
        for child in children:
            child.ask(end_by)

    def _leaving(self, group: BaseExceptionGroup[BaseException]) -> BaseException:
        """Return what leaves the block: the body's own exception, or one error of ours.

        Children put nothing into the group, except when they escalate, and except what
        no program should catch, like `KeyboardInterrupt`.
        """
        told = [exc for exc in group.exceptions if not is_cancellation(exc)]
        if self._crash is not None and all(isinstance(exc, Exception) for exc in told):
            self._crash.__cause__ = group
            return self._crash
        return told[0] if len(told) == 1 else ungrouped(group)


@asynccontextmanager
async def open_supervisor(
    name: str = "root",
    *,
    limit: RestartLimit = RestartLimit(),
    strategy: Strategy = Strategy.ONE_FOR_ONE,
    exits: trio.MemorySendChannel[ActorRef[Any]] | None = None,
) -> AsyncGenerator[Supervisor, None]:
    """Open a place for actors to live in.

    Leaving the block normally asks all children to stop, the youngest first, gives
    them the longest of their graces together, then cancels what is left. Inside an
    actor that is itself being stopped they get a little less than it has left, so
    that it can still say how they ended. Leaving the block with an exception cancels
    them. Either way they are gone when the block is.

    Args:
        name: The first step of the children's paths; none if empty. Inside an actor, pass
            ``mailbox.myself.path`` to continue its path.
        limit: How often each child may be restarted.
        strategy: Who is restarted together with a child that crashed.
        exits: Where the ref of each child that has ended for good is sent, in the order of
            their ends; its status is the `Exit` by then, and its name is free. A channel
            without bound (``math.inf``), so that no end is missed; it may be shared, it is
            not closed here, and it may be closed at any time.

    Raises:
        BufferTooSmall: if ``exits`` is bounded.
        RestartLimitExceeded: if a child went past its limit. An exception of the body
            leaves the block bare, as it was raised; if both happen, it is in the
            group that is this error's ``__cause__``.

    Cancellation:
        Cancels the children, and waits until they are gone.
    """
    path = name if not name or name.startswith("/") else f"/{name}"
    leaving: BaseException | None = None
    _check_exits(exits)
    try:
        async with trio.open_nursery() as nursery:
            supervisor = Supervisor(path, nursery, limit, strategy, exits)
            try:
                yield supervisor
            finally:
                supervisor._closing = True
            supervisor._ask_all()
    except BaseExceptionGroup as group:
        leaving = supervisor._leaving(group)
    if leaving is not None:
        raise leaving


def _check_exits(exits: trio.MemorySendChannel[ActorRef[Any]] | None) -> None:
    if exits is not None:
        size = exits.statistics().max_buffer_size
        if size < math.inf:
            raise BufferTooSmall(size, math.inf)


async def _abort_start(child: Child) -> None:
    child.kill("nobody waits for its start any more")
    with trio.move_on_after(child.spec.grace, shield=True):
        await ActorRef(child.cell).wait_terminated()


def _is_inside(child: Child) -> bool:
    """Return whether the present task is the child's, or could not outlive it."""
    task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
    while task is not None and task is not child.task:
        task = task.parent_nursery and task.parent_nursery.parent_task
    return task is not None


def _is_cancelled() -> bool:
    return effective_deadline() == -math.inf


def _end_by(grace: float) -> float:
    """Return when children have to be gone: before the supervisor itself has to be."""
    now = trio.current_time()
    left = max(0.0, effective_deadline() - now)
    return now + min(grace, left * HEADROOM)
