"""Commands that the user runs beside the agent, and that the agent is told of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, final

import attrs
import trio

from ..core import Entry, HeadTail, truncate_middle, user_shell_message
from ..protocol import (
    CommandItem,
    ItemCompleted,
    ItemStarted,
    Message,
    ReadOnly,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from ..sandbox import OutputSink, Process, ProcessError, ProcessSpec, confine
from ._thread import Thread
from ._turn_ends import End, timed

LONGEST: Final = 3600.0
"""Seconds that a command may take; the reference's number."""
_ABORTED: Final = -1
_TIMED_OUT: Final = 124
_NOT_STARTED: Final = 127
"""Exit codes of commands that did not exit; the last two as shells have them."""


@final
@attrs.frozen(kw_only=True)
class ShellRun:
    """How a command of the user's went."""

    message: Message
    """What the model is told of it."""
    aborted_by: str | None = None


@final
@attrs.define(eq=False, kw_only=True)
class UserShell:
    """Runs the user's commands: in the user's shell, and under the same policy as the agent's."""

    thread: Thread
    start: Callable[[ProcessSpec, OutputSink], Awaitable[Process]]
    running: dict[trio.CancelScope, str | None]
    """What can be cancelled, and who has asked for it."""

    async def run(self, command: str, turn_id: str) -> ShellRun:
        """Run a command, and tell those who follow the agent.

        Args:
            command: A command line.
            turn_id: The turn that it is shown in.

        Cancellation: kills it. What cancels its scope in `running` kills it as well; then this
            returns.
        """
        scope, output, began_at = trio.CancelScope(), HeadTail(), trio.current_time()
        item, started_at_ms = self._announce_start(command, turn_id)
        self.running[scope] = None
        try:
            exit_code = await self._execute(self._spec(item), output, scope)
        finally:
            aborted_by = self.running.pop(scope)
        seconds = trio.current_time() - began_at
        aborted = exit_code == _ABORTED and aborted_by is not None
        text = "command aborted by user" if aborted else output.take(final=True).text
        self._announce_end(
            attrs.evolve(
                item,
                status="completed" if exit_code == 0 else "failed",
                aggregated_output=text,
                exit_code=exit_code,
                duration=seconds,
            ),
            turn_id,
            started_at_ms,
        )
        short = truncate_middle(text, self.thread.settings.model.truncation)
        return ShellRun(
            message=user_shell_message(command, exit_code, seconds, short),
            aborted_by=aborted_by if aborted else None,
        )

    async def run_turn(self, command: str, turn_id: str) -> None:
        """Run a turn that consists of a command; the model is told of it at the next.

        Cancellation: kills it, and the turn has no end.
        """
        thread, began_at = self.thread, self.thread.services.now()
        thread.tell(TurnStarted(turn_id=turn_id, started_at=int(began_at)))
        ran = await self.run(command, turn_id)
        thread.record(Entry(ran.message), turn_id)
        end = _end_of_turn(turn_id, ran.aborted_by)
        thread.announce(timed(end, began_at, thread.services.now()))
        thread.sync()
        await thread.settle()

    def _spec(self, item: CommandItem) -> ProcessSpec:
        env = {**self.thread.settings.environment, "CODEX_THREAD_ID": self.thread.id}
        return ProcessSpec(argv=item.command, cwd=item.cwd, env=env)

    async def _confined(self, spec: ProcessSpec) -> ProcessSpec:
        settings = self.thread.settings
        policy = settings.sandbox_policy or ReadOnly()
        return await confine(spec, policy, workspace=settings.cwd, bounds=settings.bounds)

    async def _execute(self, spec: ProcessSpec, output: HeadTail, scope: trio.CancelScope) -> int:
        with scope:
            try:
                process = await self.start(await self._confined(spec), output)
            except ProcessError as exc:
                output.append(str(exc).encode())
                return _NOT_STARTED
            try:
                with trio.move_on_after(LONGEST):
                    return await process.wait()
            except trio.Cancelled:
                await process.kill()
                raise
            await process.kill()
            return _TIMED_OUT
        return _ABORTED

    def _announce_start(self, command: str, turn_id: str) -> tuple[CommandItem, int]:
        settings, now = self.thread.settings, self.thread.services.now_ms()
        item = CommandItem(
            id=self.thread.services.new_id(),
            command=(settings.shell, "-lc", command),
            cwd=settings.cwd,
            status="in_progress",
            source="user_shell",
        )
        self.thread.hear(
            ItemStarted(thread_id=self.thread.id, turn_id=turn_id, item=item, started_at_ms=now)
        )
        return item, now

    def _announce_end(self, item: CommandItem, turn_id: str, started_at_ms: int) -> None:
        self.thread.hear(
            ItemCompleted(
                thread_id=self.thread.id,
                turn_id=turn_id,
                item=item,
                started_at_ms=started_at_ms,
                completed_at_ms=self.thread.services.now_ms(),
            )
        )


def _end_of_turn(turn_id: str, aborted_by: str | None) -> End:
    if aborted_by is None:
        return TurnCompleted(turn_id=turn_id, last_agent_message=None)
    return TurnAborted(turn_id=turn_id, reason="interrupted", interrupted_by=aborted_by)
