"""Handing operations to agents."""

from __future__ import annotations

import trio

from ..actors import ActorRef, ActorStatus, ActorTerminated, Exit, ReplyPort
from ..core import Entry
from ..protocol import (
    InjectItems,
    Op,
    OverrideSettings,
    RunUserShellCommand,
    Steer,
    Submission,
    TaskId,
    UserTurn,
    Verdict,
)
from ._commons import Commons
from ._desk import Desk, Envelope
from ._errors import EmptyInput
from ._giver import Giver
from ._input import prepare_input
from ._overrides import require_sandbox


async def ask(
    commons: Commons,
    desk: Desk,
    op: Op,
    entries: tuple[Entry, ...],
    *,
    task_id: TaskId | None = None,
    seconds: float | None = None,
    giver: Giver | None = None,
    ports: list[ReplyPort[Verdict]] | None = None,
) -> Verdict:
    """Have an agent's reader decide about an operation.

    Args:
        commons: The tree's.
        desk: The agent's.
        op: The operation.
        entries: Its input, as the history will hold it.
        task_id: Of the task that it is, if it is one.
        seconds: How long its turn may run.
        giver: Whose model says it, if it is no task, and may become one.
        ports: Takes where the answer goes, for a caller that must know whether it was sent.

    Raises:
        ActorTerminated: if the agent has ended, or crashed with the operation in hand.

    Cancellation: it may have been decided.
    """
    await trio.lowlevel.checkpoint_if_cancelled()  # who is gone hands nothing over any more
    ref = await wait_up(commons, desk)
    submission = Submission(task_id or commons.services.new_id(), op)

    def envelope(port: ReplyPort[Verdict]) -> Envelope:
        if ports is not None:
            ports.append(port)
        return Envelope(
            submission=submission,
            entries=entries,
            task_id=task_id,
            seconds=seconds,
            giver=giver,
            interrupts=desk.interrupts,
            reply=port,
        )

    return await ref.ask(envelope)


async def wait_up(commons: Commons, desk: Desk) -> ActorRef[Envelope]:
    """Return an agent's address, after waiting for an owner that is to bring it up again.

    Not a checkpoint while the agent is up: whoever asks for its address goes on to write to it.

    Raises:
        ActorTerminated: if it has ended, or is to end.

    Cancellation: ends the waiting.
    """
    while desk.parent is not None and _is_down(commons, desk):
        low, owner = _top_of_those_down(commons, desk, desk.parent)
        before, above = low.ref, _address(owner)
        if owner.comes_back:
            await above.status.wait_value(lambda status: status != "running")
        status = await above.status.wait_value(_is_settled)
        if status == "running" and low.ref == before:
            raise ActorTerminated(low.path.text)
    try:
        return _address(desk)  # looked at in the same step as whether it is down
    except ActorTerminated:
        await trio.lowlevel.checkpoint()
        raise


def _top_of_those_down(commons: Commons, desk: Desk, owner: Desk) -> tuple[Desk, Desk]:
    """Return who is to come up first for the agent to come up, and its owner.

    Not recursive: a chain of agents may be longer than Python's stack.
    """
    while owner.parent is not None and _is_down(commons, owner):
        desk, owner = owner, owner.parent
    return desk, owner


def _address(desk: Desk) -> ActorRef[Envelope]:
    ref = desk.ref
    if desk.closing or ref is None or isinstance(ref.status.get(), Exit):
        raise ActorTerminated(desk.path.text)
    return ref


def _is_down(commons: Commons, desk: Desk) -> bool:
    """Whether it has ended for now, and perhaps not for good."""
    known = desk.closing is None and commons.desks.get(desk.thread_id) is desk
    return known and desk.ref is not None and isinstance(desk.ref.status.get(), Exit)


def _is_settled(status: ActorStatus) -> bool:
    return status == "running" or isinstance(status, Exit)


async def prepare(commons: Commons, op: Op) -> tuple[Entry, ...]:
    """Return the history entries of an operation's input, after checking it.

    Raises:
        EmptyInput: if there is nothing in it.
        SandboxUnavailable: if it asks for a sandbox that cannot be had.

    Cancellation: nothing has happened.
    """
    match op:
        case UserTurn(items=items, overrides=overrides):
            if overrides.sandbox_policy is not None:
                await require_sandbox(overrides.sandbox_policy)
            return await prepare_input(items, new_id=commons.services.new_id)
        case Steer(items=items):
            return await prepare_input(items, new_id=commons.services.new_id)
        case OverrideSettings(overrides):
            if overrides.sandbox_policy is not None:
                await require_sandbox(overrides.sandbox_policy)
        case InjectItems(()):
            raise EmptyInput
        case RunUserShellCommand(command) if not command.strip():
            raise EmptyInput
        case _:
            pass
    await trio.lowlevel.checkpoint()
    return ()
