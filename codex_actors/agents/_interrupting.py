"""Interrupting a subtree: the tree does it, in one step; whoever asks only waits."""

from __future__ import annotations

from ._commons import Commons
from ._deadlines import within
from ._desk import Desk
from ._ending import JointEnding


async def interrupt_agents(commons: Commons, top: Desk, by: str) -> None:
    """Stop an agent and all below it; return when what they did has ended.

    Raises:
        DeadlinePassed: if that takes too long; it goes on.

    Cancellation: ends the waiting, not the interrupt.
    """
    members = fence(top, by)
    ends = [desk.over() for desk in members]
    seconds = commons.settings.deadlines.interrupt
    with within(seconds, f"the interrupt of {top.path}", lambda: _busy_ones(members)):
        for end in ends:
            await end.wait()


def fence(top: Desk, by: str) -> tuple[Desk, ...]:
    """Fence the subtree, and end all its turns, together. Not a checkpoint."""
    members = tuple(top.subtree())
    ending_now = [d for d in members if d.run is not None and not d.run.stopping]
    ending = JointEnding(desk.thread_id for desk in ending_now)
    for desk in ending_now:
        desk.ending = ending
    for desk in members:
        desk.fence = by
        desk.interrupt(by)
    return members


def _busy_ones(members: tuple[Desk, ...]) -> str:
    busy = [desk.path.text for desk in members if desk.busy.get()]
    return f"{', '.join(busy[:8]) or 'nobody'} not idle yet; it goes on"
