"""How agents stand, for models that ask or wait: what is true now, not what has just changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import trio

from ..actors import Watch
from ..protocol import (
    AgentStatus,
    Errored,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskTimedOut,
    ThreadId,
)
from ._commons import Commons
from ._desk import Desk


def standing(commons: Commons, desk: Desk) -> AgentStatus:
    """How an agent stands. What a task ended as counts also if no turn could say it."""
    if desk.closing or commons.desks.get(desk.thread_id) is not desk:
        return "shutdown"
    status = commons.hub.status(desk.thread_id).get()
    if desk.busy.get() or desk.last_task is None:
        return status
    record = commons.books.journal.task(desk.last_task)
    outcome = None if record is None else record.outcome
    return status if outcome is None else _status(outcome, status)


def rested(commons: Commons, desks: Iterable[Desk]) -> dict[ThreadId, AgentStatus]:
    """Those that have nothing to do, and something to show; an interrupted one, too."""
    found = {}
    for desk in desks:
        status = standing(commons, desk)
        if status == "shutdown" or not (
            desk.busy.get() or status in ("pending_init", "running", "not_found")
        ):
            found[desk.thread_id] = status
    return found


async def wait_rested(commons: Commons, desks: Sequence[Desk]) -> Mapping[ThreadId, AgentStatus]:
    """Return how those stand that are at rest, as soon as there is one.

    Cancellation: ends the waiting.
    """
    while not (found := rested(commons, desks)):
        # What they are at is noted here, without a checkpoint since it was looked at.
        watches: list[Watch[object]] = []
        for desk in desks:
            watches += (desk.busy, commons.hub.status(desk.thread_id))
        before = [watch.get() for watch in watches]
        async with trio.open_nursery() as nursery:
            for watch, value in zip(watches, before, strict=True):
                nursery.start_soon(_wait_change, watch, value, nursery.cancel_scope)
    await trio.lowlevel.checkpoint()
    return found


async def _wait_change(watch: Watch[object], before: object, done: trio.CancelScope) -> None:
    await watch.wait_value(lambda value: value != before)
    done.cancel(reason="an agent may be at rest")


def _status(outcome: TaskOutcome, last: AgentStatus) -> AgentStatus:
    match outcome:
        case TaskCompleted():
            return last
        case TaskFailed(message):
            return Errored(message)
        case TaskInterrupted():
            return "interrupted"
        case TaskTimedOut(seconds):
            return Errored(f"timed out after {seconds:g} seconds")
        case TaskOverBudget(limit):
            return Errored(f"over budget: {limit}")
