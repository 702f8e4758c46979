"""Running the command of a call: what it may do is asked first, and perhaps once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs
import trio

from ..core import CommandWish, Permit, Refusal, looks_denied
from ..protocol import CommandItem, EventMsg
from ..sandbox import CouldNotStart, ProcessError, ProcessSpec
from ._announce import announce_completed
from ._limits import leads_to
from ._session import Session
from ._sessions import TooManyCommands
from ._tool import ToolContext

QUICK: Final = 1.0
"""Seconds within which a command must have failed to be attempted again. So long nobody is told
of it: people would see its end, and then see it begin."""


@final
@attrs.frozen
class Attempted:
    """What became of a command."""

    session: Session
    began_at: float
    """When the last attempt began, by Trio's clock."""


async def attempt_command(
    wish: CommandWish, spec: ProcessSpec, seconds: float, context: ToolContext
) -> Attempted | Refusal:
    """Run a command as far as the guard allows, and wait for its end.

    Args:
        wish: What the guard is asked for.
        spec: The command.
        seconds: How long an attempt is waited for; it runs on after that.
        context: The call's.

    Raises:
        ProcessError: if it cannot be started.
        TooManyCommands: if too many are running.

    Cancellation: kills it.
    """
    permit: Permit | Refusal | None = await context.guard.admit_command(wish)
    while isinstance(permit, Permit):
        attempt = _Attempt(permit, context)
        attempted = await attempt.run(spec, wish.call_id, seconds)
        permit = await context.guard.retry_command(wish, permit) if attempt.was_denied else None
        attempt.tell(dropped=permit is not None)
        if permit is None:
            return attempted
    assert permit is not None
    return permit


@final
@attrs.define(eq=False)
class _Attempt:
    """One attempt. Until it is known to be the last, nobody is told of it."""

    permit: Permit
    context: ToolContext
    was_denied: bool = False
    """Whether it may be made again, because the sandbox was in the way."""
    _held: list[EventMsg] = attrs.field(factory=list)
    _tell: Callable[[EventMsg], None] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tell = self._held.append if self.permit.may_retry else self.context.announce

    async def run(self, spec: ProcessSpec, call_id: str, seconds: float) -> Attempted:
        context = attrs.evolve(self.context, announce=lambda msg: self._tell(msg))
        began_at = trio.current_time()
        try:
            if self.permit.is_escalated:
                await trio.to_thread.run_sync(_check_directory, spec)
            session = await context.sessions.start(spec, call_id, context, self.permit)
        except (ProcessError, TooManyCommands):
            _tell_failed(self.permit, spec, call_id, self.context)
            raise
        try:
            with session.in_use():
                await self._wait(session, seconds)
        except BaseException:
            self.tell(dropped=False)
            raise
        if self.was_denied:
            context.sessions.forget(session)
        return Attempted(session, began_at)

    async def _wait(self, session: Session, seconds: float) -> None:
        if self.permit.may_retry:
            await _wait_or_kill(session, min(QUICK, seconds), self.context)
            if session.ended and looks_denied(session.exit_code, session.printed):
                self.was_denied = True
                return
            self.tell(dropped=False)
            seconds -= QUICK
        if not session.ended:
            await _wait_or_kill(session, seconds, self.context)

    def tell(self, *, dropped: bool) -> None:
        """Tell what was held back, unless it is to be forgotten, and what comes from now on."""
        held, self._held = self._held, []
        self._tell = self.context.announce
        for msg in () if dropped else held:
            self.context.announce(msg)


def _check_directory(spec: ProcessSpec) -> None:
    """Refuse a directory that has become a link while somebody was asked about it.

    Raises:
        CouldNotStart: if it leads elsewhere now.
    """
    if leads_to(spec.cwd) != spec.cwd:
        detail = "its directory leads elsewhere than when somebody was asked"
        raise CouldNotStart(program=spec.argv[0], cwd=spec.cwd, fault="other", detail=detail)


async def _wait_or_kill(session: Session, seconds: float, context: ToolContext) -> None:
    """Wait for the end, but not longer; a cancelled call takes its command with it."""
    try:
        with trio.move_on_after(seconds):
            await session.wait_ended()
    except trio.Cancelled:
        await context.sessions.end(session)
        raise


def _tell_failed(permit: Permit, spec: ProcessSpec, call_id: str, context: ToolContext) -> None:
    """Tell the end of what people were told is beginning, when they were asked."""
    if permit.started_at_ms is None:
        return
    item = CommandItem(id=call_id, command=spec.argv, cwd=spec.cwd, status="failed", source="agent")
    announce_completed(item, context, started_at_ms=permit.started_at_ms)
