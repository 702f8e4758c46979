"""`codex-actors exec`: one agent, from the prompt to its last word."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, final

import attrs
import trio

from ..actors import Lagged
from ..agents import AgentHandle, AgentSpec, Task, open_agents, report_leftovers
from ..config import Loaded
from ..protocol import (
    Event,
    EventMsg,
    LocalImageInput,
    SessionConfigured,
    TaskCompleted,
    TaskRecord,
    TextInput,
    TokenUsage,
    TurnAborted,
    TurnCompleted,
    UserInput,
    WarningRaised,
)
from ..rollout import TypedPrompt, remember_prompt
from ..sandbox import Leftover, adopt_orphans
from ._ask_whom import Ask
from ._exec_parser import ExecOptions
from ._notify import Notice, notify
from ._quote import join
from ._view_agents import nicknames_in

FAILED: Final = 1
LOOK: Final = 0.2
"""Seconds between two looks at tasks that end without an event."""
LAST_LOOK: Final = 0.01
"""Seconds without an event after which all has been shown that was told: events that are there
are had at once."""
ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the program in order: somebody asks for it, or its terminal is gone. The
exit status is 128 and the signal's number then, as shells say it; as after a second Ctrl-C."""


@final
@attrs.frozen(kw_only=True)
class Job:
    """Everything that a run of `exec` starts from."""

    options: ExecOptions
    loaded: Loaded
    prompt: str
    resume: str | None = None
    """Id of the thread to go on with."""
    schema: Any = None
    """JSON schema that the provider is asked to keep the last message to."""
    show: Callable[[EventMsg], None]
    """Prints an event, if it is worth it."""
    show_below: Callable[[Event], None] | None = None
    """The same for events of the agents below; None: the root's items say what they did."""
    show_total: Callable[[TokenUsage], None] | None = None
    """Prints what all agents of the tree have used, when it has ended; None: nobody asked."""
    draw: Callable[[], Awaitable[None]] | None = None
    """Keeps what is shown up to date until it is cancelled, if it has to be kept so."""
    ask: Ask | None = None
    """None: there is nobody to be asked."""


async def run_exec(job: Job) -> tuple[int, str | None]:
    """Run one agent to the end of its task.

    Ctrl-C ends the turn in order; a second one ends the program at once, but for what is
    left running; so does SIGQUIT. SIGTERM shuts down in order, and SIGHUP does unless it is
    ignored, as `nohup` has it.

    Returns:
        The exit status and the agent's last message.

    Raises:
        CodexActorsError: if it could not begin.
    """
    run = _Run(job)
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(*_heeded()) as signals:
            nursery.start_soon(run.watch, signals, nursery)
            if job.draw is not None:
                nursery.start_soon(job.draw)
            await run.go(nursery)
            nursery.cancel_scope.cancel(reason="the task is over")
    return run.status, run.message


@final
class _Run:
    def __init__(self, job: Job) -> None:
        self.status = FAILED
        self.message: str | None = None
        self._job = job
        self._root: AgentHandle | None = None
        self._signals: list[int] = []
        self._nicknames: dict[str, str] = {}

    async def go(self, nursery: trio.Nursery) -> None:
        """Run the job to its end."""
        settings = self._job.loaded.settings
        leftovers = await report_leftovers(settings)
        async with adopt_orphans(), open_agents(settings) as tree:
            if self._job.ask is not None:
                nursery.start_soon(self._job.ask, tree, self._nicknames)
            async with tree.events(math.inf) as events:
                root = await tree.spawn(
                    AgentSpec(
                        resume=self._job.resume,
                        unfinished=self._job.options.unfinished,
                        # It has one turn; what agents say after that, it reads when it is resumed.
                        wakes=False,
                    )
                )
                warnings = [*self._job.loaded.warnings, *map(_describe, leftovers)]
                warnings += await self._remember(root)
                task = await root.assign(self._input(), output_schema=self._job.schema)
                self._root = root  # from here on there is a turn that an interrupt ends
                await self._follow(events, task, warnings)
                await self._linger(events, tree.restarted)
            self._conclude(record := await task.wait())
            await self._notify(record)
            await root.close()
            if self._job.show_total is not None:
                self._job.show_total(tree.usage)

    async def _remember(self, root: AgentHandle) -> list[str]:
        """Add the prompt to the history of prompts; return what went wrong."""
        settings = self._job.loaded.settings
        if settings.ephemeral:
            return []
        prompt = TypedPrompt(session_id=root.thread_id, ts=int(time.time()), text=self._job.prompt)
        problem = await remember_prompt(settings.home, prompt, settings.prompt_history)
        return [] if problem is None else [problem]

    async def _notify(self, record: TaskRecord) -> None:
        """Tell the user's program of a turn that was completed."""
        if record.turn_id is None or not isinstance(record.outcome, TaskCompleted):
            return
        settings = self._job.loaded.settings
        notice = Notice(
            thread_id=record.thread_id,
            turn_id=record.turn_id,
            cwd=settings.cwd,
            prompts=(self._job.prompt,),
            message=record.outcome.message,
        )
        problem = await notify(settings, notice, os.environ)
        if problem is not None:
            self._job.show(WarningRaised(problem))

    def _input(self) -> tuple[UserInput, ...]:
        pictures = map(LocalImageInput, self._job.options.images)
        return (*pictures, TextInput(self._job.prompt))

    async def _follow(
        self,
        events: trio.abc.ReceiveChannel[Event | Lagged],
        task: Task,
        warnings: Iterable[str],
    ) -> None:
        """Show what happens until the task's turn has ended."""
        async for event in events:
            if isinstance(event, Lagged):
                continue
            self._nicknames |= nicknames_in(event.msg)
            if event.thread_id != task.record.get().thread_id:
                if self._job.show_below is not None:
                    self._job.show_below(event)
                continue
            self._job.show(event.msg)
            if isinstance(event.msg, SessionConfigured):
                for warning in warnings:
                    self._job.show(WarningRaised(warning))
            over = isinstance(event.msg, TurnCompleted | TurnAborted)
            if over and event.id == task.record.get().turn_id:
                return

    async def _linger(
        self, events: trio.abc.ReceiveChannel[Event | Lagged], restarted: Sequence[Task]
    ) -> None:
        """Show what happens until the tasks have ended that are run again.

        Not every end is an event: one that was interrupted before it began says nothing. What
        was told before the last of them had ended is shown, too.
        """
        while restarted:
            over = all(task.record.get().outcome is not None for task in restarted)
            with trio.move_on_after(LAST_LOOK if over else LOOK) as look:
                event = await events.receive()
                if isinstance(event, Event) and self._job.show_below is not None:
                    self._job.show_below(event)
            if over and look.cancelled_caught:
                return

    def _conclude(self, record: TaskRecord) -> None:
        if isinstance(record.outcome, TaskCompleted):
            self.message = record.outcome.message
            self.status = 0
        for number in ENDINGS:
            if number in self._signals:
                self.status = 128 + number

    async def watch(self, signals: AsyncIterable[int], nursery: trio.Nursery) -> None:
        """Obey the signals that a person or a supervisor of the program sends."""
        async for number in signals:
            self._signals.append(number)
            urgent = number == signal.SIGQUIT or self._signals.count(signal.SIGINT) > 1
            if self._root is None or urgent:
                self.status = 128 + number
                nursery.cancel_scope.cancel(reason="asked to stop at once")
                return
            nursery.start_soon(self._root.interrupt)


def _heeded() -> tuple[signal.Signals, ...]:
    """Return the signals that may not just kill the program: its commands would live on."""
    numbers = (signal.SIGINT, signal.SIGQUIT, *ENDINGS)
    return tuple(n for n in numbers if n == signal.SIGINT or signal.getsignal(n) != signal.SIG_IGN)


def _describe(leftover: Leftover) -> str:
    pid = leftover.identity.pid
    return (
        f"process {pid} is still running: {join(leftover.argv)}; a program that was killed"
        f" started it, and `kill -9 {pid}` ends it"
    )
