"""The tasks that work for one turn: its stream, its tools, its wait for the next attempt.

They run in a nursery of the agent's scope, and are cancelled together. A tool that does not
end when it is cancelled is left behind after a grace, named, and goes with the agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Self, final

import attrs
import trio

from ._home import Home

GRACE: Final = 5.0
"""Seconds between cancelling a turn's workers and ending the turn without them (DESIGN)."""


@final
@attrs.define(eq=False)
class TurnWorkers:
    """Starts workers, and says when they are gone. Made by `open_workers`.

    The home nursery holds each of them, and each has a scope of its own: a nursery and a task
    per turn, only to cancel them by, would cost as much as all else that the turn does here.
    """

    _home: Home
    _scopes: set[trio.CancelScope] = attrs.field(factory=set)
    _gone: trio.Event = attrs.field(factory=trio.Event)
    _deadline: float | None = None
    """Until when the cancelled workers are waited for, on Trio's clock."""
    calls: dict[str, float] = attrs.field(factory=dict)
    """When each tool that is at work was started, on Trio's clock, by call id."""

    def start(self, work: Callable[[], Awaitable[None]], name: str) -> trio.CancelScope:
        """Run ``work`` until it is done, the turn is stopped, or the scope returned is cancelled.

        Not a checkpoint.
        """
        assert self._deadline is None, "the workers were stopped"
        scope = trio.CancelScope()
        self._scopes.add(scope)
        self._home.start_soon(self._run, work, scope, name=name)
        return scope

    def stop(self) -> None:
        """Cancel every worker; `wait_gone` waits for their end. Not a checkpoint."""
        self._cancel("the turn was interrupted")

    async def wait_gone(self) -> bool:
        """Wait until no worker runs; False if some still does after the grace.

        Not a checkpoint if none runs.

        Cancellation: shielded, and ends `GRACE` seconds after they were cancelled: a turn's
            end must be recorded when its agent is cancelled, too.
        """
        assert self._deadline is not None, "the workers were not stopped"
        # Most unwind in one step, in the next round of Trio's loop, before this task or after
        # it. When thousands end at once, a scope for each would be a tenth of the time.
        for _ in range(2):
            if self._gone.is_set():
                return True
            await trio.lowlevel.cancel_shielded_checkpoint()
        with trio.CancelScope(deadline=self._deadline, shield=True):
            await self._gone.wait()
        return self._gone.is_set()

    async def _run(self, work: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> None:
        try:
            with scope:
                await work()
        finally:
            self._scopes.discard(scope)
            self._note_gone()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._cancel("the turn is over")
        if self._scopes:
            await self.wait_gone()

    def _cancel(self, reason: str) -> None:
        if self._deadline is None:
            self._deadline = trio.current_time() + GRACE
        for scope in self._scopes:
            scope.cancel(reason=reason)
        self._note_gone()

    def _note_gone(self) -> None:
        if self._deadline is not None and not self._scopes:
            self._gone.set()


def open_workers(home: Home) -> AbstractAsyncContextManager[TurnWorkers]:
    """Open a place for one turn's workers.

    Leaving it cancels them, and waits for them no longer than `GRACE`.

    Args:
        home: The agent's nursery; it holds whoever does not end in time.
    """
    return TurnWorkers(home)
