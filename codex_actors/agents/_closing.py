"""Closing an agent with all below it: ask, grace, cancel, report."""

from __future__ import annotations

from typing import Final

from ..actors import CloseReport, Exit, Supervisor
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk

_COMING: Final = ("starting", "restarting")


async def close_agent(commons: Commons, top: Desk, roots: Supervisor, by: str) -> CloseReport:
    """End an agent and all below it, and return how that went.

    Raises:
        DeadlinePassed: if that takes too long; it goes on.

    Cancellation: ends the waiting, not the closing.
    """
    for desk in top.subtree():
        desk.closing = desk.closing or by
        desk.fence = desk.fence or by
    seconds = top.spec.grace + commons.settings.deadlines.close
    with within(seconds, f"the end of {top.path}", lambda: "it is cancelled, and goes on"):
        report = await _stop(top, roots)
        await top.gone.wait()
    return report


async def _stop(top: Desk, roots: Supervisor) -> CloseReport:
    await _wait_for_owners(top)
    ref, owner = top.ref, top.parent
    assert ref is not None, "an agent that never began cannot be closed"
    supervisor: Supervisor | None = roots
    if owner is not None:
        supervisor = None if owner.life is None else owner.life.children.value
    ending = ref.status.get()
    if supervisor is None or isinstance(ending, Exit):
        # It went down with its owner, who did not bring it up any more.
        ending = await ref.wait_terminated()
        return CloseReport(exit=ending, seconds=0.0, grace_ran_out=False)
    return await supervisor.stop(ref)


async def _wait_for_owners(top: Desk) -> None:
    """Wait until nobody above is on the way down, or up again."""
    desk = top.parent
    while desk is not None:
        if desk.ref is None or not _is_between(desk):
            desk = desk.parent
            continue
        await desk.ref.status.wait_value(lambda status: status != "running")
        await desk.ref.status.wait_value(lambda status: status not in _COMING)
        desk = top.parent


def _is_between(desk: Desk) -> bool:
    status = None if desk.ref is None else desk.ref.status.get()
    if status is None or isinstance(status, Exit):
        return False
    return status in _COMING or desk.life is None or desk.life.comes_back
