"""Keeping what an agent knows of AGENTS.md true to the directory it works in."""

from __future__ import annotations

import trio

from ..config import FoundGuides, read_guides
from ..protocol import GuideRules, Settings, WarningRaised
from ..tools import reach_of
from ._thread import Thread


def knows_guides(thread: Thread, settings: Settings) -> bool:
    """Return whether the guides for a turn with these settings have been looked up.

    Files that change while an agent stays where it is are not read again, as in the
    reference: the agent may be the one that changes them.
    """
    return settings.guides is None or thread.guided == settings.cwd


async def look_up_guides(thread: Thread, settings: Settings) -> None:
    """Read the guides that hold with these settings.

    Cancellation: nothing has changed; a worker thread may still read for a moment, and
    what it finds is dropped.
    """
    if settings.guides is None:
        await trio.lowlevel.checkpoint()
        return
    found = await trio.to_thread.run_sync(_read, settings.guides, settings, abandon_on_cancel=True)
    thread.guides, thread.guided = found.guides, settings.cwd
    for warning in found.warnings:
        thread.announce(WarningRaised(warning))


def _read(rules: GuideRules, settings: Settings) -> FoundGuides:
    return read_guides(rules, home=settings.home, cwd=settings.cwd, reach=reach_of(settings))
