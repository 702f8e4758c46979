"""Closing an agent with all below it: ask, grace, cancel, report."""

from __future__ import annotations

from typing import Final

from ..actors import CloseReport, Exit, OwnEnd, Supervisor
from ..rollout import CloseReason
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk

_NEVER_BEGAN: Final = CloseReport(exit=Exit("stopped"), seconds=0.0, grace_ran_out=False)
"""Who is being made ends as soon as it begins, or is undone."""


async def close_agent(
    commons: Commons, top: Desk, roots: Supervisor | None, by: str
) -> CloseReport:
    """End an agent and all below it, and return how that went.

    Raises:
        OwnEnd: if a tool of the agent, or of one below it, asks for that; nothing was done.
        DeadlinePassed: if that takes too long; it goes on.

    Cancellation: ends the waiting, not the closing.
    """
    marked = [desk for desk in top.subtree() if desk.closing is None]
    for desk in marked:
        desk.closing = by
    before, top.dismissed = top.dismissed, True
    seconds = top.spec.grace + commons.settings.deadlines.close
    with within(seconds, f"the end of {top.path}", lambda: "it is cancelled, and goes on"):
        try:
            report = await _stop(commons, top, roots) if top.ref is not None else _NEVER_BEGAN
        except OwnEnd:  # there was no checkpoint since they were marked
            for desk in marked:
                desk.closing = None
            top.dismissed = before
            raise
        await top.gone.wait()
    return report


def reason_gone(desk: Desk) -> CloseReason | None:
    """Why an agent does not come back with the root of its tree, if that ends; None: it does."""
    if desk.parent is None:
        return None
    if desk.dismissed:
        return "closed"
    above = desk.parent
    while above.parent is not None:
        if above.dismissed:
            return "along"
        above = above.parent
    return None


async def _stop(commons: Commons, top: Desk, roots: Supervisor | None) -> CloseReport:
    ref, owner = top.ref, top.parent
    assert ref is not None, "an agent that never began cannot be closed"
    supervisor: Supervisor | None = roots
    if owner is not None:
        supervisor = None if owner.life is None else owner.life.children.value
    ending = ref.status.get()
    if supervisor is None or isinstance(ending, Exit):
        # It is down with its owner, and will not be brought up any more. That was no end of
        # its own when it happened, so it is told to whoever buries only now.
        ending = await ref.wait_terminated()
        commons.exits.send_nowait(ref)
        return CloseReport(exit=ending, seconds=0.0, grace_ran_out=False)
    # No checkpoint before: whoever asks may be cancelled already, and it is asked all the same.
    return await supervisor.stop(ref)
