"""Starting the root of a tree, and what an earlier process left below it."""

from __future__ import annotations

from typing import final

import attrs
import trio

from ..actors import Supervisor
from ..protocol import ROOT, Overrides, Role, Settings
from ..rollout import time_stamp
from ._agent import start_actor
from ._authority import child_settings
from ._commons import Commons
from ._deadlines import within
from ._desk import Desk
from ._overrides import apply_overrides, require_sandbox
from ._plan import edge_of
from ._resume import Revived, revive
from ._spawn import add_desk, make_desk, remove_desk, tighter
from ._spec import AgentSpec


@final
@attrs.frozen
class Root:
    """A root that was started."""

    desk: Desk
    revived: Revived


async def spawn_root(commons: Commons, supervisor: Supervisor, spec: AgentSpec) -> Root:
    """Start a tree's root.

    Raises:
        SpawnRefused: if its role cannot be had.
        SandboxUnavailable: if its commands cannot be confined as they should be.
        RolloutError: if it is to be resumed and cannot be.
        JournalError: if the disk refuses to hold the journal.
        DeadlinePassed: if that takes too long.

    Cancellation: no agent was started.
    """
    settings = commons.settings
    if spec.role is not None:
        settings = await trio.to_thread.run_sync(_in_role, settings, spec, spec.role)
    settings = apply_overrides(settings, spec.overrides)
    if spec.role is None and spec.instructions is not None:
        settings = attrs.evolve(settings, developer_instructions=spec.instructions)
    await require_sandbox(settings.sandbox_policy)
    spec = attrs.evolve(spec, limits=tighter(commons.settings.limits, spec.limits))
    desk = make_desk(commons, None, ROOT, spec, settings)
    add_desk(commons, desk)
    started = False
    try:
        with within(settings.deadlines.spawn, f"the start of {ROOT}", lambda: "it was undone"):
            revived = await _start(commons, supervisor, desk)
            started = True
    finally:
        if not started:
            for gone in list(desk.subtree()):
                remove_desk(commons, gone)
                gone.gone.set()
    return Root(desk, revived)


def _in_role(settings: Settings, spec: AgentSpec, role: Role) -> Settings:
    """Return the tree's settings as the root's role has them. Blocks."""
    own = child_settings(settings, role, Overrides(), spec.instructions)
    return attrs.evolve(own, output_schema=settings.output_schema)


async def _start(commons: Commons, supervisor: Supervisor, desk: Desk) -> Revived:
    resumed = desk.spec.resume is not None
    found_in = commons.settings.home if resumed else None
    await commons.books.open(desk.thread_id, found_in=found_in)
    revived = await revive(commons, desk) if resumed else Revived()
    await commons.books.enter(edge_of(desk, time_stamp(commons.services.now())))
    await start_actor(commons, desk, supervisor)
    for warning in revived.warnings:
        commons.hub.warn(desk.thread_id, desk.path, warning)
    return revived
