"""Restarting siblings together: all down, then up one after another, the oldest first.

A sibling is cancelled, not asked to stop: its mailbox stays open, so that unread
messages wait for the next incarnation. A child that ends while others are being
brought up joins them, and the order is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import attrs
import trio

from ._child import Child
from ._mailbox import Exit
from ._restart import Restart, Strategy, plan


@final
@attrs.define(eq=False)
class Regroup:
    """The children of one supervisor that are down together, if any."""

    _nursery: trio.Nursery
    _strategy: Strategy
    _falling: list[Child] = attrs.field(init=False, factory=list)
    """Were told to come down; perhaps they have not yet."""
    _waiting: list[Child] = attrs.field(init=False, factory=list)
    """Are to be brought up; the oldest is the last."""
    _resume_at: float = attrs.field(init=False, default=0.0)
    _scope: trio.CancelScope | None = attrs.field(init=False, default=None)

    def bring_down(self, child: Child, children: Mapping[str, Child], delay: float) -> None:
        """Bring down all that share the fate of ``child``, to go up after ``delay`` seconds."""
        reason = f"{child.cell.path} ended, and its siblings are restarted with it"
        group = {name: each for name, each in children.items() if _lives(each)}
        shared = plan(self._strategy, child.spec.name, _restarts(group))
        for name in shared.stop:
            _bring_down(group[name], reason, restarts=group[name].spec.restart)
        child.held = True
        self._falling += (group[name] for name in shared.start)
        waiting = {each.number: each for each in self._waiting}
        waiting |= {group[name].number: group[name] for name in shared.start}
        self._waiting = [waiting[number] for number in sorted(waiting, reverse=True)]
        self._resume_at = max(self._resume_at, trio.current_time() + delay)
        if self._scope is None:
            self._scope = trio.CancelScope()
            self._nursery.start_soon(self._bring_up, self._scope)

    def give_up(self) -> None:
        """Bring nobody up any more."""
        self._waiting.clear()
        self._falling.clear()
        if self._scope is not None:
            self._scope.cancel(reason="the supervisor is closing")

    async def _bring_up(self, scope: trio.CancelScope) -> None:
        with scope:
            while self._falling or self._waiting:
                await self._take_a_step()
        self._scope = None

    async def _take_a_step(self) -> None:
        """Do the next thing that is due; others may have joined when it is done."""
        if self._falling:
            await _wait_down(self._falling.pop())
        elif trio.current_time() < self._resume_at:
            await trio.sleep_until(self._resume_at)
        else:
            await _bring_up(self._waiting.pop())


def _lives(child: Child) -> bool:
    return child.begun and not child.stopping


def _restarts(children: Mapping[str, Child]) -> dict[str, Restart]:
    return {name: child.spec.restart for name, child in children.items()}


def _bring_down(child: Child, reason: str, *, restarts: Restart) -> None:
    if restarts is Restart.TEMPORARY:
        child.kill(reason)
    else:
        child.hold(reason)


async def _wait_down(child: Child) -> None:
    await child.cell.status.wait_value(lambda status: child.pausing or isinstance(status, Exit))


async def _bring_up(child: Child) -> None:
    """Let ``child`` go on, and wait until it runs, or has failed to."""
    if not child.pausing:
        return
    child.held = False
    child.settled = settled = trio.Event()
    child.resume()
    await settled.wait()
    child.settled = None
