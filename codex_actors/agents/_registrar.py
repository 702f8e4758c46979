"""What the tree does by itself: burying agents that ended, and bringing news of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from ..actors import ActorRef, Exit
from ..protocol import TaskFailed, TaskInterrupted, TaskOutcome, TaskRecord
from ..rollout import CloseReason
from ._closing import reason_gone
from ._collab_endings import show_completion
from ._commons import Commons
from ._crashes import find_crash
from ._desk import Desk, Envelope
from ._spawn import remove_desk


async def bury_agents(
    commons: Commons, exits: trio.MemoryReceiveChannel[ActorRef[Envelope]]
) -> None:
    """Settle what agents left open that have ended for good, and free their names."""
    async for ref in exits:
        refs = [ref, *_more(exits)]
        if not commons.closing:
            await _bury(commons, [desk for ref in refs if (desk := _dead(commons, ref))])


async def bring_news(commons: Commons, settled: trio.MemoryReceiveChannel[TaskRecord]) -> None:
    """Tell the agents that gave tasks how these have ended."""
    async for record in settled:
        receiver = None if record.reply_to is None else commons.desks.get(record.reply_to)
        if receiver is None:
            continue
        if record.outcome == TaskInterrupted(receiver.path.text):
            # It was the one who did it, and waits for no answer.
            await commons.books.note_delivered(receiver, [record.id], "")
        else:
            show_completion(commons, receiver, record)
            commons.post.deliver(receiver, record)


def _more(exits: trio.MemoryReceiveChannel[ActorRef[Envelope]]) -> list[ActorRef[Envelope]]:
    refs = []
    while exits.statistics().current_buffer_used:
        refs.append(exits.receive_nowait())
    return refs


def _dead(commons: Commons, ref: ActorRef[Envelope]) -> Desk | None:
    """Return whose end it is, if it is for good.

    Who was killed without having been closed went down with its owner, and comes up with it,
    also if it crashed at that; or with a sibling, and is one that is not restarted.
    """
    desk = commons.by_ref.get(ref.path)
    ending = ref.status.get()
    if desk is None or desk.ref != ref or not isinstance(ending, Exit):
        return None
    brought_down = ending.reason in ("killed", "crashed") and desk.closing is None
    went_along = brought_down and not _stays(desk)
    return None if went_along else desk


def _stays(desk: Desk) -> bool:
    """Whether its owner has not been down since it was started, and is not going down.

    An owner that is coming up may have started it already, and not come to its siblings yet.
    """
    owner = desk.parent
    if owner is None:
        return True
    life = owner.life
    return life is not None and not owner.comes_back and life.children.value is desk.kept_by


async def _bury(commons: Commons, dead: Sequence[Desk]) -> None:
    for top in dead:
        ending = top.ref.status.get() if top.ref is not None else None
        # One that was closed while it waited to be restarted was closed.
        raised = ending.crash if isinstance(ending, Exit) and top.closing is None else None
        crash = None if raised is None else find_crash(raised)
        family = list(top.subtree())
        ids = [desk.thread_id for desk in family]
        for desk in family:
            reason = _reason(desk, top, crash)
            if reason is not None:
                commons.books.leave([desk.thread_id], reason)
        for desk in family:
            remove_desk(commons, desk)
        if crash is not None:
            commons.hub.warn(
                top.thread_id, top.path, f"{top.path} crashed for good: {crash!r}; it is closed"
            )
        await commons.books.settle_agents(ids, _outcome(top, crash))
        await commons.books.catch_up()
        for desk in reversed(family):
            desk.queue.clear()
            desk.rest()  # whoever waits until it is idle waits no longer
            commons.hub.end(desk.thread_id)
            desk.gone.set()


def _reason(desk: Desk, top: Desk, crash: Exception | None) -> CloseReason | None:
    """Why an agent is no more that ended, or whose owner did; None: it comes back with its root.

    The root's end is the tree's: what was below it is there again when it is resumed, but for
    those whose end it was not.
    """
    if top.parent is None or top.root.closing is not None:
        return reason_gone(desk)
    if desk is top and crash is not None:
        return "crashed"
    along = desk is not top or top.parent.closing is not None
    return "along" if along and not desk.dismissed else "closed"


def _outcome(desk: Desk, crash: Exception | None) -> TaskOutcome:
    if crash is not None:
        return TaskFailed(f"the agent crashed: {crash!r}", "internal_server_error")
    return TaskInterrupted(desk.closing or "shutdown")
