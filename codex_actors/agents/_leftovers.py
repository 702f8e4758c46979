"""What an earlier process left running when it was killed."""

from __future__ import annotations

from pathlib import Path

import trio

from ..protocol import Settings
from ..sandbox import Leftover, find_leftovers


def records_folder(settings: Settings) -> Path | None:
    """Where agents note the processes they start; None if nothing may be written."""
    return None if settings.ephemeral else Path(settings.home, "processes")


async def report_leftovers(settings: Settings) -> tuple[Leftover, ...]:
    """Return the processes that outlived a program of the same home that was killed.

    Nothing is done to them. Records of processes that have ended are dropped.

    Cancellation: nothing has happened.
    """
    folder = records_folder(settings)
    if folder is None:
        await trio.lowlevel.checkpoint()
        return ()
    return await find_leftovers(folder)
