"""Which agents are in memory: those that rest make room for those that are needed."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol, final

import trio

from ..protocol import ThreadId
from ._errors import NoRoom


class Resident(Protocol):
    """An agent that is loaded, or is being loaded."""

    def at_rest(self) -> bool:
        """Whether it can be unloaded now: no turn, no process, nothing unsaid."""

    async def look(self) -> None:
        """Find out what `at_rest` cannot know at once: which processes were left behind.

        Cancellation: nothing has happened.
        """

    async def unload(self) -> None:
        """Drop what can be read from the disk again."""


@final
class Residency:
    """Counts the loaded agents of a tree, and unloads who was not needed for longest.

    Args:
        loaded: How many may be loaded at once; None: any number.
    """

    def __init__(self, loaded: int | None) -> None:
        self._limit = loaded
        self._loaded: OrderedDict[ThreadId, tuple[str, Resident]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._loaded)

    async def admit(self, thread_id: ThreadId, path: str, resident: Resident) -> None:
        """Make room for an agent that is about to be loaded; it counts from then on.

        It waits for nobody but the disk: an agent that is busy may be waiting for this one.

        Raises:
            NoRoom: if all that are loaded are busy; it names them.

        Cancellation: it was not admitted. Some may have been unloaded.
        """
        await trio.lowlevel.checkpoint()
        while self._is_full and thread_id not in self._loaded:
            await self._unload_one()
        self._loaded[thread_id] = (path, resident)
        self._loaded.move_to_end(thread_id)

    def touch(self, thread_id: ThreadId) -> None:
        """Note that an agent was needed just now. Not a checkpoint."""
        if thread_id in self._loaded:
            self._loaded.move_to_end(thread_id)

    def leave(self, thread_id: ThreadId) -> None:
        """Note that an agent is not loaded any more. Not a checkpoint."""
        self._loaded.pop(thread_id, None)

    async def _unload_one(self) -> None:
        for thread_id, (_, resident) in tuple(self._loaded.items()):
            if resident.at_rest():
                await resident.look()
                if resident.at_rest() and thread_id in self._loaded:
                    del self._loaded[thread_id]
                    await resident.unload()
                    return
        if self._is_full:  # who was busy at first may have left meanwhile
            raise NoRoom(tuple(sorted(path for path, _ in self._loaded.values())))

    @property
    def _is_full(self) -> bool:
        return self._limit is not None and len(self._loaded) >= self._limit
