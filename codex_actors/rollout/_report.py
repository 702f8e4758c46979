"""What a flush has to say."""

from __future__ import annotations

from typing import final

import attrs


@final
@attrs.frozen(kw_only=True)
class FlushReport:
    """Where the lines of a tree are, after a flush."""

    problem: str | None = None
    """Why lines wait, for people; None: the kernel has them all, and the disk if asked."""
    since: float | None = None
    """Unix time in seconds at which the disk refused first."""
    waiting: int = 0
    """Lines that are kept for the next flush. They are in memory, however many."""


@final
@attrs.frozen(kw_only=True)
class RecorderStatistics:
    """A recorder, for people to look at."""

    threads: int
    """Threads that it knows."""
    open_files: int
    batches: int
    """Batches of its clerk so far, each of everything that waited then: one trip to a thread."""
    waiting: int
    """Lines that are not written yet."""
