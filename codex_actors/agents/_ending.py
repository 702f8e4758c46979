"""The turns of an interrupted subtree end together: one flush, then told deepest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, final

import trio

from ..protocol import ThreadId
from ._workers import GRACE

PATIENCE: Final = GRACE + 2.0
"""Seconds that a turn which has ended waits for the others: their tools may take `GRACE`."""


@final
class JointEnding:
    """Lets turns that were interrupted in one step wait for each other, twice.

    First with what they have recorded, so that one flush takes it all; then with what they
    have to tell. Nobody waits longer than `PATIENCE` for anybody.

    Args:
        members: Whose turns end.
    """

    def __init__(self, members: Iterable[ThreadId]) -> None:
        self._recording = set(members)
        self._untold = set(self._recording)
        self._recorded = trio.Event()
        self._told = trio.Event()
        self._tellings: dict[ThreadId, tuple[int, Callable[[], None]]] = {}

    async def arrive(self, thread_id: ThreadId) -> None:
        """Wait until all turns have recorded their ends.

        Cancellation: the others do not wait for this one.
        """
        self._recording.discard(thread_id)
        self._check()
        with trio.move_on_after(PATIENCE):
            await self._recorded.wait()

    async def tell(self, thread_id: ThreadId, depth: int, telling: Callable[[], None]) -> None:
        """Have ``telling`` called after those of the agents that are deeper in the tree.

        Cancellation: it is called at once.
        """
        self._tellings[thread_id] = (depth, telling)
        self.leave(thread_id)
        try:
            with trio.move_on_after(PATIENCE):
                await self._told.wait()
        finally:
            if self._tellings.pop(thread_id, None) is not None:
                telling()

    def leave(self, thread_id: ThreadId) -> None:
        """Do not wait for this one any more. Not a checkpoint."""
        self._recording.discard(thread_id)
        self._untold.discard(thread_id)
        self._check()

    def _check(self) -> None:
        if not self._recording:
            self._recorded.set()
        if not self._untold and not self._told.is_set():
            self._told.set()
            tellings, self._tellings = self._tellings, {}
            for _, telling in sorted(tellings.values(), key=lambda entry: -entry[0]):
                telling()
