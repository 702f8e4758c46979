"""Waiting for what a turn needs: the agent's memory, its guides, a place among those that run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from ..protocol import TaskFailed, TaskOutcome, TaskOverBudget
from ..rollout import RolloutError
from ._desk import Desk, Work
from ._errors import NoRoom
from ._guides import knows_guides, look_up_guides
from ._overrides import apply_overrides
from ._slots import Slot
from ._thread import Thread

if TYPE_CHECKING:
    from ._agent import Living


async def prepare_turn(desk: Desk, living: Living, work: Work, slot: Slot) -> TaskOutcome | None:
    """Wait for what a turn needs; return why it cannot be had.

    Cancellation: the agent may be loaded; the slot was not taken.
    """
    try:
        thread = await living.load()
    except (NoRoom, RolloutError) as error:
        return TaskFailed(str(error))
    if work.quiet or work.shell is not None:
        return None
    limit = desk.account.refuses_turn(trio.current_time())
    if limit is not None:
        return TaskOverBudget(limit)
    await _look_up_guides(desk, thread, work)
    await slot.take()
    await _look_up_guides(desk, thread, work)  # the wait may have been long
    return None


async def _look_up_guides(desk: Desk, thread: Thread, work: Work) -> None:
    """Read what people wrote for agents where the turn will work; that may change meanwhile."""
    while not knows_guides(thread, settings := apply_overrides(desk.settings, work.op.overrides)):
        await look_up_guides(thread, settings)
