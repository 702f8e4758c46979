"""What people are shown of an agent."""

from __future__ import annotations

from typing import final

import attrs
import trio

from ..protocol import AgentStatus, Spent
from ._commons import Commons
from ._desk import Desk


@final
@attrs.frozen(kw_only=True)
class AgentSnapshot:
    """One agent, for people to look at."""

    path: str
    thread_id: str
    role: str | None
    status: AgentStatus
    task: str | None
    """What it works on, in the words of whoever gave it."""
    running_tools: tuple[str, ...]
    total_tokens: int
    """Of its own thread, over all processes."""
    spent: Spent
    """What it and those below it have used since this process has them."""
    seconds: float
    """How long its own turns have run in this process."""
    letters: int
    """Mail that it has not read."""


def snapshots(commons: Commons) -> tuple[AgentSnapshot, ...]:
    """Show every agent, owners before those they own."""
    roots = [desk for desk in commons.desks.values() if desk.parent is None]
    return tuple(_snapshot(commons, desk) for root in roots for desk in root.subtree())


def _snapshot(commons: Commons, desk: Desk) -> AgentSnapshot:
    calls = None if desk.run is None else desk.run.turn.calls
    task = None if desk.task_id is None else commons.books.journal.task(desk.task_id)
    return AgentSnapshot(
        path=desk.path.text,
        thread_id=desk.thread_id,
        role=None if desk.spec.role is None else desk.spec.role.name,
        status=commons.hub.status(desk.thread_id).get(),
        task=None if task is None else task.text,
        running_tools=() if calls is None else tuple(map(calls.tool, calls.running)),
        total_tokens=desk.used.total_tokens,
        spent=desk.account.spent(trio.current_time()),
        seconds=desk.seconds,
        letters=len(desk.box),
    )
