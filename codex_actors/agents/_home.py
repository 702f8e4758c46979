"""The nursery that one incarnation of an agent lives in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVarTuple, final

import attrs
import trio

from ._crashes import find_crash

Args = TypeVarTuple("Args")


@final
@attrs.define(eq=False)
class Home:
    """A nursery that knows whether something in it has crashed.

    Trio's own is cancelled by its first task that raises, also if that is `trio.Cancelled`
    because everything around is cancelled: from its scope one cannot tell which it was.
    """

    _nursery: trio.Nursery
    crashed: bool = False
    """Whether a task, or the block, has raised something of its own."""

    def start_soon(
        self, work: Callable[[*Args], Awaitable[object]], /, *args: *Args, name: str
    ) -> None:
        """See `trio.Nursery.start_soon`."""
        self._nursery.start_soon(self._run, work, args, name=name)

    async def start(self, work: Callable[..., Awaitable[object]], *, name: str) -> None:
        """See `trio.Nursery.start`.

        Raises:
            Exception: whatever kept it from starting; that is no crash.

        Cancellation: nothing was started.
        """
        await self._nursery.start(self._bring_up, work, name=name)

    def note(self, error: BaseException) -> None:
        """Note what leaves the nursery's block, or a task of it. Not a checkpoint."""
        self.crashed = self.crashed or find_crash(error) is not None

    async def _run(self, work: Callable[[*Args], Awaitable[object]], args: tuple[*Args]) -> None:
        try:
            await work(*args)
        except BaseException as error:
            self.note(error)
            raise

    async def _bring_up(
        self, work: Callable[..., Awaitable[object]], *, task_status: trio.TaskStatus[Any]
    ) -> None:
        try:
            await work(task_status=task_status)
        except BaseException as error:
            # Before it is up, it raises at whoever starts it, and does not belong here.
            if trio.lowlevel.current_task().parent_nursery is self._nursery:
                self.note(error)
            raise
