"""The turns of an interrupted subtree end together: one flush, then told deepest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, final

import trio

from ..protocol import ThreadId
from ._workers import GRACE

if TYPE_CHECKING:
    from ._books import Concluded, Ended

PATIENCE: Final = GRACE + 2.0
"""Seconds that a turn which has ended waits for the others: their tools may take `GRACE`."""


@final
class JointEnding:
    """Lets turns that were interrupted in one step end in one step.

    The first that has recorded its end waits for the others, no longer than `PATIENCE`; then
    it has all of them written, and tells of those first that are deepest in the tree. The
    others wait for it. Whoever comes later ends alone, and so do all if the first is cut off.

    Args:
        members: Whose turns end.
        conclude: Writes down how turns ended, in that order.
    """

    def __init__(
        self,
        members: Iterable[ThreadId],
        conclude: Callable[[Sequence[Ended]], Awaitable[Sequence[Concluded]]],
    ) -> None:
        self._conclude = conclude
        self._awaited = set(members)
        self._complete = trio.Event()
        self._led = False
        self._ended: dict[ThreadId, Ended] = {}
        self._told: set[ThreadId] = set()
        self._over = trio.Event()

    async def end(self, ended: Ended) -> bool:
        """Have a turn's end written and told together with the others'.

        Returns:
            Whether that was done. If not, it has to end alone.

        Cancellation: it may be called again. The others are told with it, or alone.
        """
        thread_id = ended.thread.id
        if self._over.is_set():
            await trio.lowlevel.checkpoint()
            return thread_id in self._told
        self._ended[thread_id] = ended
        self.leave(thread_id)
        if self._led:
            await self._over.wait()
        else:
            await self._lead()
        return thread_id in self._told

    def leave(self, thread_id: ThreadId) -> None:
        """Do not wait for this one any more. Not a checkpoint."""
        self._awaited.discard(thread_id)
        if not self._awaited:
            self._complete.set()

    async def _lead(self) -> None:
        self._led = True
        try:
            with trio.move_on_after(PATIENCE):
                await self._complete.wait()
            ended = sorted(self._ended.values(), key=lambda each: -each.thread.path.depth)
            for each in await self._conclude(ended):
                self._told.add(each.thread.id)
                each.tell()
        finally:
            self._over.set()
