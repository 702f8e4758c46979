"""Keeping what files were before a turn changes them, so that the turn can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs
import trio

from ..core import lets_write
from ..protocol import ReadOnly, WarningRaised
from ..undo import UndoError, note_after, note_before
from ._thread import Thread

PATIENCE: Final = 10.0
"""Seconds that a turn waits for its files to be kept; then it goes on, and cannot be taken back."""


@final
@attrs.define(eq=False)
class Keeping:
    """What one turn asks before its first change, and at its end."""

    _thread: Thread
    _turn_id: str
    _asked: trio.Event | None = None
    _kept: bool = False

    async def before_change(self) -> None:
        """Return when the files are kept, or cannot be; the first call has it done.

        Cancellation: ends the waiting; the next call asks again.
        """
        if self._asked is None:
            self._asked = asked = trio.Event()
            try:
                self._kept = await self._do(self._note_before)
            except trio.Cancelled:
                self._asked = None
                raise
            finally:
                asked.set()
        else:
            await self._asked.wait()

    async def end(self) -> None:
        """Keep what the turn has made of the files, if it may have changed any.

        Not a checkpoint otherwise.

        Cancellation: what they are later counts as the turn's.
        """
        if self._kept:
            self._kept = False
            await self._do(self._note_after)

    async def _do(self, note: Callable[[], None]) -> bool:
        try:
            with trio.move_on_after(PATIENCE):
                await trio.to_thread.run_sync(note, abandon_on_cancel=True)
                return True
            problem = f"it took more than {PATIENCE:g} seconds"
        except UndoError as error:
            problem = str(error)
        self._thread.hear(WarningRaised(f"this turn cannot be undone: {problem}"))
        return False

    def _note_before(self) -> None:
        settings, services = self._thread.settings, self._thread.services
        note_before(
            str(settings.home), self._thread.id, self._turn_id, cwd=settings.cwd, now=services.now()
        )

    def _note_after(self) -> None:
        note_after(str(self._thread.settings.home), self._thread.id, self._turn_id)


def keeping_for(thread: Thread, turn_id: str) -> Keeping | None:
    """Return what keeps a turn's files; None where nothing is to be kept."""
    settings = thread.settings
    wanted = settings.features.get("undo", False) and not settings.ephemeral
    can_change = lets_write(settings.sandbox_policy or ReadOnly())
    # Somebody may let it change what its policy does not.
    can_change = can_change or settings.approval_policy != "never"
    return Keeping(thread, turn_id) if wanted and can_change and settings.home else None
