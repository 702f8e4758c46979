"""Entries on their way into a journal: who waits for them, and what the disk refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import trio

from ._clerk import Clerk
from ._errors import JournalRefused
from ._ledger import FileLedger
from ._page import Page, Slip


@final
class Tray:
    """Slips that wait to be written.

    Args:
        writing: Where they are written, and by whom; None: they are kept in memory alone.
        note: Told of each slip that was written, or refused, before anybody who waits for it.
    """

    def __init__(
        self, writing: tuple[FileLedger, Clerk] | None, note: Callable[[Slip], None]
    ) -> None:
        self._writing = writing
        self._note = note
        self._slips: list[Slip] = []
        # What every batch tries until the disk takes it; of a dict the order is kept.
        self._late: dict[Slip, None] = {}
        self._closed = False
        self._emptied = False
        if writing is not None:
            writing[1].employ(self._page)

    def put(self, slip: Slip) -> None:
        """Have the next batch of the clerk write a slip, whoever asks for it. Not a checkpoint.

        Raises:
            trio.ClosedResourceError: if no more is taken.
        """
        if self._closed:
            raise trio.ClosedResourceError
        self._slips.append(slip)

    def put_late(self, slip: Slip) -> None:
        """Have it written before whatever is written next, if need be again and again.

        Not a checkpoint.

        Raises:
            trio.ClosedResourceError: if no more is taken.
        """
        if self._closed:
            raise trio.ClosedResourceError
        if self._writing is None:
            slip.refused = None
            self._note(slip)
        else:
            self._late[slip] = None

    async def finish(self, slip: Slip) -> None:
        """Return when a slip that was put is written.

        Raises:
            JournalRefused: if the disk refuses.

        Cancellation: it is written or not, never by halves.
        """
        if self._writing is None:
            await self._keep(slip)
            return
        ledger, clerk = self._writing
        try:
            await clerk.commit()
        except trio.Cancelled:
            await self._withdraw(slip, clerk)
            raise
        if slip.refused is not None:
            reason = slip.refused.strerror or str(slip.refused)
            raise JournalRefused(ledger.path, reason) from slip.refused

    async def catch_up(self) -> None:
        """Have written what is late, if the disk takes it.

        Cancellation: it stays late.
        """
        if self._late and self._writing is not None:
            await self._writing[1].commit()
        else:
            await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Take no more.

        Cancellation: what is late is lost; everything else was handed to the kernel.
        """
        self._closed = True
        await self.catch_up()
        self._emptied = True
        if self._writing is not None:
            await trio.to_thread.run_sync(self._writing[0].close, abandon_on_cancel=True)
        else:
            await trio.lowlevel.checkpoint()

    async def _keep(self, slip: Slip) -> None:
        self._slips.remove(slip)
        await trio.lowlevel.checkpoint()
        slip.refused = None
        self._note(slip)

    async def _withdraw(self, slip: Slip, clerk: Clerk) -> None:
        """Leave no entry behind that a cancelled caller does not know of."""
        if slip in self._slips:
            self._slips.remove(slip)
        else:
            # Another caller may be writing it. That takes as long as one batch.
            with trio.CancelScope(shield=True):
                await clerk.wait_current()

    def _page(self) -> Page | None:
        if self._writing is None or self._emptied or not (self._slips or self._late):
            return None
        slips, self._slips = [*self._late, *self._slips], []
        return Page(self._writing[0], slips, self._done)

    def _done(self, slip: Slip) -> None:
        if slip.refused is None:
            self._late.pop(slip, None)
        self._note(slip)
