"""Waiting for what a turn needs: the agent's memory, its guides, a place among those that run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import TaskFailed, TaskOutcome, TaskOverBudget
from ..rollout import RolloutError
from ._desk import Desk, Work
from ._errors import NoRoom
from ._guides import knows_guides, look_up_guides
from ._slots import Slot
from ._thread import Thread

if TYPE_CHECKING:
    from ._agent import Living


def is_prepared(desk: Desk, living: Living, work: Work, slot: Slot) -> bool:
    """Whether nothing has to be waited for, as between the turns of an agent at work."""
    thread = living.thread
    if thread is None or slot.limited:
        return False
    living.commons.residency.touch(thread.id)
    return work.runs_nothing or knows_guides(thread, desk.settings_for(work))


async def prepare_turn(desk: Desk, living: Living, work: Work, slot: Slot) -> TaskOutcome | None:
    """Wait for what a turn needs; return why it cannot be had.

    Cancellation: the agent may be loaded; the slot was not taken.
    """
    try:
        thread = await living.load()
    except (NoRoom, RolloutError) as error:
        return TaskFailed(str(error))
    refusal = limit_reached(desk, work)
    if work.runs_nothing or refusal is not None:
        return refusal
    await _look_up_guides(desk, thread, work)
    await slot.take()
    await _look_up_guides(desk, thread, work)  # the wait may have been long
    return None


def limit_reached(desk: Desk, work: Work) -> TaskOutcome | None:
    """Return how the task of a turn ends that some limit forbids."""
    limit = desk.account.refuses_turn()
    return None if limit is None or work.runs_nothing else TaskOverBudget(limit)


async def _look_up_guides(desk: Desk, thread: Thread, work: Work) -> None:
    """Read what people wrote for agents where the turn will work; that may change meanwhile."""
    while not knows_guides(thread, settings := desk.settings_for(work)):
        await look_up_guides(thread, settings)
