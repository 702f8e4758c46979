"""Bringing back an agent that was closed, with those that were closed along with it."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from ..actors import ActorTerminated
from ..protocol import ThreadId
from ..rollout import AgentEdge, RolloutError, RolloutStore, time_stamp
from ._commons import Commons
from ._deadlines import settling
from ._desk import Desk
from ._errors import AgentFenced
from ._plan import edge_of, read_plan, settings_of, spec_of
from ._spawn import add_desk, check_room, make_desk, remove_desk, start_child


async def bring_back(commons: Commons, owner: Desk, edge: AgentEdge) -> Desk:
    """Let a closed agent live again, below ``owner``; it knows what its rollout says.

    Raises:
        SpawnRefused: if there may be no more agents below the owner.
        ActorTerminated: if the owner ends.
        JournalError: if the disk refuses.

    Cancellation: it is closed as before.
    """
    if commons.closing or owner.closing or owner.thread_id not in commons.desks:
        raise ActorTerminated(owner.path.text)
    if owner.fence is not None:
        raise AgentFenced(owner.path, owner.fence)
    check_room(owner)
    top = _seat(commons, owner, edge)
    top.made = False
    family = [top, *_seat_below(commons, top)]
    try:
        await _remember(commons, family)
        for desk in family:
            await commons.books.enter(edge_of(desk, time_stamp(commons.services.now())))
        await start_child(commons, owner, top)
        top.made = True
    finally:
        if not top.made:
            with settling():
                await _undo(commons, family)
    for desk in family:
        commons.hub.status(desk.thread_id).set("pending_init")
    return top


def _seat(commons: Commons, owner: Desk, edge: AgentEdge) -> Desk:
    plan = read_plan(edge)
    path = owner.path.child(_free(owner, edge.path.name))
    spec = spec_of(plan, path, ())
    desk = make_desk(commons, owner, path, spec, settings_of(plan, owner.settings))
    desk = attrs.evolve(desk, thread_id=edge.thread_id, dormant=True)
    add_desk(commons, desk)
    return desk


def _seat_below(commons: Commons, top: Desk) -> Iterator[Desk]:
    """Those that were closed because their owner was."""
    journal = commons.books.journal
    along = [e for name, e in journal.closed.items() if journal.reason(name) == "along"]
    owners = [top]
    while owners:
        owner = owners.pop()
        for edge in along:
            if edge.parent_thread_id == owner.thread_id and edge.thread_id not in commons.desks:
                desk = _seat(commons, owner, edge)
                owners.append(desk)
                yield desk


def _free(owner: Desk, name: str) -> str:
    free, number = name, 1
    while free in owner.children:
        number += 1
        free = f"{name}_{number}"
    return free


async def _remember(commons: Commons, family: list[Desk]) -> None:
    """Find out where the rollouts are: this process's own, or an earlier one's."""
    strangers: list[ThreadId] = []
    for desk in family:
        try:
            await commons.recorder.read(desk.thread_id)
            desk.begun = True
        except RolloutError:
            strangers.append(desk.thread_id)
    if strangers and not commons.settings.ephemeral:
        paths = await RolloutStore(commons.settings.home).find_all(strangers)
        for desk in family:
            desk.stored = paths.get(desk.thread_id)


async def _undo(commons: Commons, family: list[Desk]) -> None:
    for desk in reversed(family):
        remove_desk(commons, desk)
    ids = [desk.thread_id for desk in family]
    commons.books.leave(ids[:1], "closed")
    commons.books.leave(ids[1:], "along")
    await commons.books.catch_up()
