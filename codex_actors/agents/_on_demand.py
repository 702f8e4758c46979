"""Things that an agent has from when it first needs them: most agents never need most of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar, final

import trio

from ._home import Home

T = TypeVar("T")


@final
class OnDemand(Generic[T]):
    """What ``async with`` opens, opened at its first use, in a task of its own.

    Args:
        home: The nursery of that task. Cancelling it closes what was opened.
        open_it: Makes the context manager.
        name: What the task is called.
        is_over: Whether the home has ended, or is about to: it takes no task any more.
    """

    def __init__(
        self,
        home: trio.Nursery | Home,
        open_it: Callable[[], AbstractAsyncContextManager[T]],
        name: str,
        *,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._home = home
        self._open_it = open_it
        self._name = name
        self._is_over = is_over
        self._value: T | None = None
        self._opening: trio.Event | None = None
        self._leave: trio.Event | None = None
        self._gone: trio.Event | None = None

    @property
    def value(self) -> T | None:
        """What is open now; None if nothing is."""
        return self._value

    async def get(self) -> T:
        """Return what is open, after opening it if it is not.

        Raises:
            trio.ClosedResourceError: if the home is over.
            Exception: whatever the opening raised; the next call tries again.

        Cancellation: an opening under way is given up; who else waits for it opens it.
        """
        await trio.lowlevel.checkpoint()
        while self._value is None:
            if self._opening is None:
                await self._open()
            else:
                await self._opening.wait()
        return self._value

    def ask(self) -> None:
        """Have what is open be closed. Not a checkpoint."""
        if self._leave is not None:
            self._leave.set()

    async def close(self) -> None:
        """Close what is open, and return when it is closed. It can be opened again.

        Cancellation: ends the waiting, not the closing.
        """
        self.ask()
        if self._gone is None:
            await trio.lowlevel.checkpoint()
        else:
            await self._gone.wait()

    async def _open(self) -> None:
        self._opening = opening = trio.Event()
        try:
            if self._gone is not None:
                await self._gone.wait()  # what was open before is still being closed
            if self._is_over():  # all that was waited for may have taken until then
                raise trio.ClosedResourceError
            await self._home.start(self._keep, name=self._name)
        finally:
            self._opening = None
            opening.set()

    async def _keep(self, *, task_status: trio.TaskStatus[None]) -> None:
        self._leave, self._gone = leave, gone = trio.Event(), trio.Event()
        try:
            async with self._open_it() as value:
                # Here, not by whoever opens: he may be cancelled in the moment it is open.
                self._value = value
                task_status.started()
                await leave.wait()
                self._value = None
        finally:
            self._value = None
            gone.set()
