"""Entries on their way into a journal, and what the clerk does with them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import final

import attrs

from ._clerk import Rest
from ._entries import Entry
from ._ledger import FileLedger


@final
@attrs.define(eq=False)
class Slip:
    """An entry on its way into the journal."""

    entry: Entry
    data: bytes
    refused: OSError | None = attrs.field(
        factory=lambda: OSError(errno.EIO, "the write did not come to its end")
    )
    """Why the disk did not take it; None once it did."""


@final
@attrs.define(eq=False)
class Page:
    """Entries that are written in one go: a `Job` of the clerk."""

    ledger: FileLedger
    slips: list[Slip]
    note: Callable[[Slip], None]

    def work(self) -> Rest | None:
        """See `Job.work`."""
        refused: OSError | None = None
        try:
            self.ledger.append(b"".join([slip.data for slip in self.slips]))
        except OSError as error:
            refused = error
        for slip in self.slips:
            slip.refused = refused
        return None

    def done(self) -> None:
        """See `Job.done`."""
        for slip in self.slips:
            self.note(slip)
