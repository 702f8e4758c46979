"""An actor's address and its mailbox: the two ends of one queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar, final

import attrs
import outcome
import trio

from ._errors import ActorTerminated, CleanUpOverran
from ._watch import Watch, WatchCell

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
R = TypeVar("R")


@final
@attrs.frozen
class Exit:
    """How an actor ended."""

    reason: Literal["finished", "stopped", "killed", "crashed"]
    """It returned; it returned because it was asked to; it was cancelled; it raised."""
    crash: Exception | None = None
    """What it raised, if it crashed."""
    failures: tuple[Exception, ...] = ()
    """What went wrong in its clean-up steps (`Mailbox.clean_up`), in order."""


ActorStatus: TypeAlias = Literal["starting", "running", "restarting"] | Exit


@final
@attrs.define(eq=False)
class ReplyPort(Generic[R]):
    """Where the answer to one `ActorRef.ask` goes. Use it exactly once."""

    sent: bool = attrs.field(init=False, default=False)
    """Whether its question came into the mailbox: an asker who gives up may want to know."""
    _settled: trio.Event = attrs.field(init=False, factory=trio.Event)
    _answer: outcome.Outcome[R] | None = attrs.field(init=False, default=None)
    _in_hand: bool = attrs.field(init=False, default=False)

    def send(self, value: R) -> None:
        """Answer. Never blocks; later answers are ignored, as the asker may be long gone."""
        self._settle(outcome.Value(value))

    def _settle(self, answer: outcome.Outcome[R]) -> None:
        if self._answer is None:
            self._answer = answer
            self._settled.set()

    async def _wait(self) -> R:
        await self._settled.wait()
        assert self._answer is not None
        return self._answer.unwrap()


@final
@attrs.define(eq=False)
class Question(Generic[M]):
    """A message in the queue whose sender waits for an answer; others lie there bare."""

    message: M
    port: ReplyPort[Any]


@final
@attrs.define(eq=False)
class Cell(Generic[M]):
    """What an actor's incarnations share; its supervisor owns it."""

    path: str
    grace: float
    inbox: trio.MemorySendChannel[M | Question[M]]
    outbox: trio.MemoryReceiveChannel[M | Question[M]]
    status: WatchCell[ActorStatus] = attrs.field(init=False)
    asked: dict[ReplyPort[Any], None] = attrs.field(init=False, factory=dict)
    """Questions whose askers still wait. An empty dict is a third of an empty set."""
    held: bool = attrs.field(init=False, default=False)
    """Whether the incarnation was brought down so that another can begin."""
    restarted_at: tuple[float, ...] = attrs.field(init=False, default=())
    """Restarts since the last progress, in seconds of Trio's clock."""
    failures: tuple[Exception, ...] = attrs.field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        self.status = WatchCell("starting")

    def abandon(self) -> None:
        """Fail the questions that the last incarnation read and did not answer."""
        for port in self.asked:
            if port._in_hand:
                lost = ActorTerminated(self.path, "ended an incarnation with the question in hand")
                port._settle(outcome.Error(lost))

    def terminate(self, ending: Exit) -> None:
        """Close for good. Never raises."""
        self.status.set(ending)
        self.inbox.close()
        self.outbox.close()
        for port in self.asked:
            port._settle(outcome.Error(ActorTerminated(self.path)))


@final
@attrs.frozen(repr=False)
class ActorRef(Generic[M_contra]):
    """The address of an actor. It stays good while the actor is restarted.

    Two refs are equal if they are addresses of the same actor. A ref accepts less
    than its actor does wherever that is all a holder needs: an
    ``ActorRef[Add | Total]`` is an ``ActorRef[Add]``.
    """

    _cell: Cell[M_contra]

    def __repr__(self) -> str:
        return f"<ActorRef {self.path} {self.status.get()}>"

    @property
    def path(self) -> str:
        """Where the actor sits in the supervision tree, like ``/root/worker``."""
        return self._cell.path

    @property
    def status(self) -> Watch[ActorStatus]:
        """What the actor is doing; at last its `Exit`, which tells the cause of death."""
        return self._cell.status

    async def send(self, message: M_contra) -> None:
        """Put ``message`` in the mailbox, waiting while the mailbox is full.

        Messages from one task arrive in the order they were sent. At most
        once: a message that was being handled when the actor crashed is lost.

        Raises:
            ActorTerminated: if the actor will never read it.

        Cancellation:
            The message was not sent.
        """
        try:
            await self._cell.inbox.send(message)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ActorTerminated(self.path) from None

    def send_nowait(self, message: M_contra) -> None:
        """Put ``message`` in the mailbox now.

        Raises:
            ActorTerminated: if the actor will never read it.
            trio.WouldBlock: if the mailbox is full.
        """
        try:
            self._cell.inbox.send_nowait(message)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ActorTerminated(self.path) from None

    async def ask(self, make_message: Callable[[ReplyPort[R]], M_contra]) -> R:
        """Send a question and wait for its answer.

        There is no timeout argument; wrap the call in `trio.fail_after`.

        Args:
            make_message: Makes the question from the port that its answer goes to;
                often just the message's class.

        Raises:
            ActorTerminated: if the actor terminates before it answers, or ends an
                incarnation with the question in hand, even if it is restarted.

        Cancellation:
            The question may have been sent; its answer is dropped.
        """
        port: ReplyPort[R] = ReplyPort()
        message = make_message(port)
        self._cell.asked[port] = None
        try:
            question = Question(message, port)
            try:
                # Where there is room, waiting for the answer is all the waiting there is.
                self._cell.inbox.send_nowait(question)
            except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
                await self._put(question)
            port.sent = True
            return await port._wait()
        finally:
            del self._cell.asked[port]

    async def _put(self, item: M_contra | Question[M_contra]) -> None:
        try:
            await self._cell.inbox.send(item)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ActorTerminated(self.path) from None

    async def wait_terminated(self) -> Exit:
        """Wait until the actor has ended for good, and return how.

        Cancellation:
            The actor does not notice.
        """
        status = await self._cell.status.wait_value(lambda status: isinstance(status, Exit))
        assert isinstance(status, Exit)
        return status


@final
@attrs.define(eq=False)
class Mailbox(Generic[M]):
    """The reading end, handed to the actor's behavior and to nobody else.

    Iterating over it ends when the supervisor has asked the actor to stop and
    everything sent before that has been read.
    """

    _cell: Cell[M]

    @property
    def myself(self) -> ActorRef[M]:
        """This actor's own address, to put in messages."""
        return ActorRef(self._cell)

    async def receive(self) -> M:
        """Take the next message.

        Raises:
            trio.EndOfChannel: if the supervisor asked the actor to stop and
                everything sent before that has been read.

        Cancellation:
            No message is lost.
        """
        return _take(await self._cell.outbox.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        try:
            return _take(await self._cell.outbox.receive())
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    @property
    def held(self) -> bool:
        """Whether the actor is brought down with a sibling, to be brought up again.

        For clean-up that depends on it. A crash of its own is not meant.
        """
        return self._cell.held

    def progressed(self) -> None:
        """Say that the actor has achieved something: earlier crashes no longer count.

        For work that takes longer than the restart limit's window. Never blocks.
        """
        self._cell.restarted_at = ()

    async def clean_up(self, step: Callable[[], Awaitable[object]]) -> None:
        """Run one clean-up step, for use in a ``finally``.

        The step is shielded from cancellation, is cancelled when it has taken the
        actor's grace, and cannot raise: what goes wrong is added to `Exit.failures`
        and so to the report of `Supervisor.stop`. The actor goes on as it was ending.

        Cancellation:
            Waits for the step, at most the actor's grace in seconds.
        """
        grace = self._cell.grace
        try:
            with trio.move_on_after(grace, shield=True) as scope:
                await step()
        except Exception as exc:  # noqa: BLE001 - a failing step must not hide how the actor ends
            self._cell.failures += (exc,)
        else:
            if scope.cancelled_caught:
                self._cell.failures += (CleanUpOverran(self._cell.path, grace),)
        await trio.lowlevel.cancel_shielded_checkpoint()


def _take(item: M | Question[M]) -> M:
    """Return the message; if it is a question, note that somebody has it in hand."""
    if not isinstance(item, Question):
        return item
    item.port._in_hand = True
    return item.message


class Behavior(Protocol[M]):
    """What an actor does: an async function, not a class to inherit from.

    Everything before ``task_status.started()`` is start-up: if it raises, the
    error goes to whoever called `Supervisor.start` and no actor exists.
    Returning means the actor is done. Raising means it crashed.
    """

    async def __call__(self, mailbox: Mailbox[M], *, task_status: trio.TaskStatus[None]) -> None:
        """Run one incarnation of the actor."""
        ...
