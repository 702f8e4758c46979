"""Interrupting a subtree: the tree does it, in one step; whoever asks only waits."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from ._books import Books
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk
from ._ending import JointEnding


async def interrupt_agents(commons: Commons, top: Desk, by: str) -> None:
    """Stop an agent and all below it; return when they are idle.

    Raises:
        DeadlinePassed: if that takes too long; it goes on.

    Cancellation: ends the waiting, not the interrupt.
    """
    # Not all that is done from now on: somebody may tell them to go on meanwhile.
    members = {desk: desk.undone for desk in fence(commons.books, top, by)}
    seconds = commons.settings.deadlines.interrupt
    with within(seconds, f"the interrupt of {top.path}", lambda: _busy_ones(members)):
        await trio.lowlevel.checkpoint()
        for desk in members:
            await _wait_done(desk, members[desk])


def fence(books: Books, top: Desk, by: str) -> tuple[Desk, ...]:
    """Fence the subtree, and end all its turns, together. Not a checkpoint."""
    members = tuple(top.subtree())
    # Who is to end together with others already, whoever has not noticed yet, does so.
    ending_now = [
        d for d in members if d.run is not None and not d.run.stopping and d.ending is None
    ]
    ending = JointEnding([desk.thread_id for desk in ending_now], books.conclude)
    for desk in ending_now:
        desk.ending = ending
    for desk in members:
        desk.fence = desk.interrupter = by
        desk.interrupts += 1
        desk.interrupt(by)
    return members


async def _wait_done(desk: Desk, turns: frozenset[str]) -> None:
    if not desk.undone.isdisjoint(turns):
        await desk.busy.wait_value(lambda _: desk.undone.isdisjoint(turns))


def _busy_ones(members: Mapping[Desk, frozenset[str]]) -> str:
    busy = [desk.path.text for desk in members if not desk.undone.isdisjoint(members[desk])]
    return f"{', '.join(busy[:8]) or 'nobody'} not idle yet; it goes on"
