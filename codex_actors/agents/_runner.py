"""Carries out what `codex_actors.core` decides, and feeds the results back."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, assert_never, final

import attrs
import trio

from .. import core
from ..actors._deep import effective_deadline
from ..core import Effect, Entry, Turn, TurnInput
from ..models import Prompt
from ..protocol import (
    ErrorInfo,
    EventMsg,
    ToolCall,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    TurnDiffed,
    TurnStarted,
)
from ..tools import Toolbox, ToolContext, refuse
from ._giver import Giver
from ._home import Home
from ._keeping import Keeping
from ._sampler import Sampler
from ._slots import Slot
from ._thread import Thread
from ._turn_ends import DEADLINE, timed
from ._workers import GRACE, TurnWorkers, open_workers

logger = logging.getLogger(__name__)

CLEAN_UP: Final = 2 * GRACE
"""Seconds that a cancelled turn may take to end in order, disk included."""


@final
@attrs.frozen(kw_only=True)
class TurnSetup:
    """Everything a turn is run with; it does not change while the turn runs."""

    toolbox: Toolbox
    tool_context: ToolContext
    prompt: Callable[[], Prompt]
    """Makes the next request from what the history is by then."""
    context_line: TurnContext
    slot: Slot
    """The turn's place among those that run."""
    keeping: Keeping | None = None
    """What keeps the files as they were; None: nothing does."""
    seconds: float | None = None
    """How long it may run."""


@final
class TurnRun:
    """One turn while it runs. `post` and `interrupt` are how others get at it."""

    def __init__(self, turn: Turn, thread: Thread, setup: TurnSetup) -> None:
        self.turn = turn
        self._thread = thread
        self._setup = setup
        # A deque and a place to wait at: a channel takes three times as long for each of many.
        self._inbox: deque[TurnInput | EventMsg] = deque()
        self._waiting = trio.lowlevel.ParkingLot()
        self._began_at = thread.services.now()
        self._first_token_at: float | None = None
        self._later: list[Callable[[], object]] = []
        self._sampling = trio.CancelScope()
        self._givers: list[tuple[core.Steered, Giver]] = []
        """What agents' models said, and who."""
        self.mailed = {entry.mail for entry in turn.pending if entry.mail is not None}
        """Ids of the mail that it was given."""
        self.interrupted_by: str | None = None
        """Who has asked for its end."""
        self.finished = False
        """Whether the turn's end is written and told."""
        self.timed_out: float | None = None
        """The seconds that the turn had, if they ended it."""
        self._asked = False
        """Whether a sampling was started just now."""
        self._unsent = False
        """Whether the one that was started last has not had its turn in Trio's loop yet."""
        self._stopped = False
        """Whether the workers were cancelled, and their end is not reported yet."""

    @property
    def stopping(self) -> bool:
        """Whether the turn takes no more input."""
        return self.turn.is_over or self.turn.phase is core.Phase.STOPPING

    def leftover(self, *, quiet: bool) -> tuple[Entry, ...]:
        """Return the input that was accepted, but came after the turn was over.

        What agents' models said is left to `late_from_agents`.
        """
        given = [what for what, _ in self._givers]
        late = [what for what in self._late() if all(what is not other for other in given)]
        return tuple(entry for what in late if what.quiet is quiet for entry in what.entries)

    def late_from_agents(self) -> list[tuple[core.Steered, Giver]]:
        """Return what agents' models said, and was accepted, after the turn was over."""
        late = self._late()
        return [(what, by) for what, by in self._givers if any(what is each for each in late)]

    def _late(self) -> list[core.Steered]:
        return [what for what in self._inbox if isinstance(what, core.Steered)]

    @property
    def has_input(self) -> bool:
        """Whether a user has said something that the model has not heard yet."""
        waiting = [entry for what in self._inbox for entry in _entries(what)]
        return any(entry.mail is None for entry in (*waiting, *self.turn.pending))

    def waiting(self) -> AbstractAsyncContextManager[None]:
        """Do not count as running while one of the turn's tools waits for somebody else."""
        return self._setup.slot.waiting()

    def post(self, what: TurnInput | EventMsg) -> None:
        """Give the turn an input, or an event to announce in its order. Not a checkpoint."""
        self._inbox.append(what)
        if self._waiting:
            self._waiting.unpark()

    def steer(self, what: core.Steered, giver: Giver | None) -> None:
        """Give the turn what somebody said. Not a checkpoint."""
        if giver is not None:
            self._givers.append((what, giver))
        self.post(what)

    def interrupt(self, by: str) -> None:
        """Have the turn end. Not a checkpoint."""
        self.interrupted_by = self.interrupted_by or by
        # At once: when thousands of turns end together, many streams are closed by the time
        # that their turns hear of it, and those turns need not wait for that.
        self._sampling.cancel(reason="the turn was interrupted")
        self.post(core.Interrupted(by))

    async def run(
        self,
        home: Home,
        *,
        finish: Callable[[], Awaitable[None]],
        stopped_by: Callable[[], str],
    ) -> Turn:
        """Run the turn to its end, and return what it ended as.

        Args:
            home: The agent's nursery, for the turn's workers.
            finish: Gets the turn's last lines to the disk, then tells of its end. It may be
                cancelled and called again.
            stopped_by: Says who ends the turn when it is cancelled.

        Cancellation: the turn ends as interrupted: its workers are cancelled, missing
            outputs and the marker are recorded and flushed. That is shielded, and takes
            at most `CLEAN_UP` seconds.
        """
        self._finish, self._stopped_by = finish, stopped_by
        self._thread.post = self.post
        began_at = trio.current_time()
        self._log("the turn begins")
        try:
            async with open_workers(home) as workers:
                await self._drive(workers)
        finally:
            self._thread.post = self._thread.tell
            self._log_end(trio.current_time() - began_at)
        return self.turn

    def _log_end(self, seconds: float) -> None:
        if self.turn.error is None:
            self._log("the turn ended as %s after %.2f s", self.turn.phase.value, seconds)
        else:
            self._log("the turn failed after %.2f s: %s", seconds, self.turn.error.message)

    def _log(self, message: str, *facts: object) -> None:
        where = {"thread_id": self._thread.id, "turn_id": self.turn.id}
        logger.info(message, *facts, extra=where)

    async def _drive(self, workers: TurnWorkers) -> None:
        self.turn, effects = core.begin(self.turn)
        self._watch_clock(workers)
        try:
            await self._loop(workers, effects)
        finally:
            # A crash is no end: the agent's next incarnation says what became of the turn.
            if not self.finished and effective_deadline() == -math.inf:
                with trio.move_on_after(CLEAN_UP, shield=True):
                    self.post(core.Interrupted(self._stopped_by()))
                    await self._loop(workers, ())

    async def _loop(self, workers: TurnWorkers, effects: tuple[Effect, ...]) -> None:
        while True:
            self._carry_out_all(effects, workers)
            if self.turn.is_over:
                if self._setup.keeping is not None:
                    await self._setup.keeping.end()
                await self._finish()
                self.finished = True
                return
            if self._asked:
                # The request goes out first; what is written while it is on its way costs less.
                # Two rounds, since who comes first in the next one is left to chance.
                self._asked = False
                await trio.lowlevel.checkpoint()
                if self._unsent:
                    await trio.lowlevel.checkpoint()
            await self._thread.settle()
            self._start_later()
            if self._stopped:
                await self._report_gone(workers)
            elif not self._inbox:
                await self._waiting.park()
            effects = ()

    def _carry_out_all(self, effects: tuple[Effect, ...], workers: TurnWorkers) -> None:
        """Carry out effects, and those of all inputs that wait already, as one batch."""
        while True:
            for effect in effects:
                self._carry_out(effect, workers)
            if self.turn.is_over or not self._inbox:
                return
            effects = self._feed(self._inbox.popleft())

    def _feed(self, what: TurnInput | EventMsg) -> tuple[Effect, ...]:
        if not isinstance(what, TurnInput):
            self._thread.announce(what)
            return ()
        if self._first_token_at is None and isinstance(what, core.ItemReceived):
            self._first_token_at = self._thread.services.now()
        before = self.turn.tokens.total_token_usage.total_tokens
        self.turn, effects = core.step(self.turn, what)
        # When they are known, not when they are told: then the response's tools have ended.
        used = self.turn.tokens.total_token_usage.total_tokens - before
        if used > 0:
            self._thread.account.charge(used)
        return effects

    def _start_later(self) -> None:
        """Start the tools whose calls are on disk by now."""
        later, self._later = self._later, []
        for start in later:
            start()

    def _carry_out(self, effect: Effect, workers: TurnWorkers) -> None:
        match effect:
            case core.Record(entry):
                self._thread.record(entry, self.turn.id)
            case core.Announce(event):
                self._thread.announce(self._stamped(event))
            case core.Sample(number):
                self._begin_sampling(number, workers)
            case core.StartTool(call):
                self._later.append(
                    partial(workers.start, partial(self._run_tool, call, workers), call.tool)
                )
            case core.Flush():
                if self.turn.is_over:
                    self._thread.sync()
            case core.RecordContext():
                self._thread.keep(self._setup.context_line)
            case core.ShowDiff():
                self._show_diff()
            case core.WaitRetry(sampling, seconds):
                workers.start(partial(self._wait_retry, sampling, seconds), "retry")
            case core.CancelWorkers():
                self._later.clear()
                workers.stop()
                self._stopped = True
            case core.StopSampling():
                self._sampling.cancel(reason="mail waits")
            case _:
                assert_never(effect)

    def _begin_sampling(self, number: int, workers: TurnWorkers) -> None:
        """Ask the model, unless some limit is reached."""
        limit = self._thread.account.refuses_request()
        if limit is None:
            sample = partial(self._sample, number)
            self._sampling = workers.start(sample, f"sampling {number}")
            self._asked = self._unsent = True
        else:
            self.post(core.Interrupted("budget", limit))

    def _watch_clock(self, workers: TurnWorkers) -> None:
        """End the turn when the time is over that it may take."""
        now, seconds = trio.current_time(), self._setup.seconds
        budget = self._thread.account.deadline()
        if seconds is not None and now + seconds < budget:
            workers.start(
                partial(self._stop_at, now + seconds, core.Interrupted(DEADLINE)), "clock"
            )
        elif budget < math.inf:
            workers.start(partial(self._stop_at, budget, None), "clock")

    async def _stop_at(self, time: float, interrupted: core.Interrupted | None) -> None:
        await trio.sleep_until(time)
        limit = self._thread.account.refuses_request()
        if interrupted is not None and not self.stopping:
            self.timed_out = self._setup.seconds
        self.post(interrupted or core.Interrupted("budget", limit or "seconds"))

    async def _sample(self, number: int) -> None:
        self._unsent = False
        setup, thread = self._setup, self._thread
        sampler = Sampler(
            sampling=number,
            thread_id=thread.id,
            turn_id=self.turn.id,
            services=thread.services,
            post=self.post,
        )
        try:
            with setup.slot.work():
                await sampler.run(setup.prompt())
        except Exception as exc:
            # A model client that raises anything but ModelError has a bug. The turn
            # fails with it; the agent and its children live on.
            logger.exception("the model client failed")
            failure = core.Failure(
                message=f"internal error in the model client: {exc!r}",
                info=ErrorInfo(kind="internal_server_error"),
            )
            self.post(core.SamplingFailed(number, failure))

    async def _wait_retry(self, sampling: int, seconds: float) -> None:
        self._log("sampling %d broke off; the next one begins in %.2f s", sampling, seconds)
        await trio.sleep(seconds)
        self.post(core.RetryDue(sampling))

    async def _run_tool(self, call: ToolCall, workers: TurnWorkers) -> None:
        workers.calls[call.call_id] = trio.current_time()
        self._log("%s %s: started", call.tool, call.call_id)
        crash = None
        try:
            with self._setup.slot.work():
                await self._keep_files(call)
                output = await self._setup.toolbox.run(call, self._setup.tool_context)
        except Exception as exc:
            # A tool that raises has a bug: failures are values. The model is told, and
            # the turn ends with an error; the agent and its children live on.
            logger.exception("the tool %s failed", call.tool)
            crash = f"internal error in the tool {call.tool}: {exc!r}"
            output = refuse(call, "internal error")
        seconds = trio.current_time() - workers.calls.pop(call.call_id)
        ending = "ended" if output.ok else "failed"
        self._log("%s %s: %s after %.2f s", call.tool, call.call_id, ending, seconds)
        self.post(core.ToolFinished(output, crash))

    async def _keep_files(self, call: ToolCall) -> None:
        """Have files kept as they are before the turn's first change. Else not a checkpoint."""
        tool, keeping = self._setup.toolbox.get(call.tool), self._setup.keeping
        if keeping is not None and tool is not None and tool.changes_files:
            await keeping.before_change()

    async def _report_gone(self, workers: TurnWorkers) -> None:
        """Post that the workers are gone, after all that they had to post themselves."""
        gone = await workers.wait_gone()
        self._stopped = False
        aborted = {call_id: self._cut_off(call_id, at) for call_id, at in workers.calls.items()}
        self.post(core.WorkersGone(() if gone else tuple(workers.calls), aborted))

    def _cut_off(self, call_id: str, started_at: float) -> str:
        seconds = max(trio.current_time() - started_at, 0.1)
        tool = self._setup.toolbox.get(self.turn.calls.tool(call_id))
        if tool is not None and tool.cut_off == "timed":
            return f"Wall time: {seconds:.1f} seconds\naborted by user"
        return f"aborted by user after {seconds:.1f}s"

    def _show_diff(self) -> None:
        diff = self._setup.tool_context.changes.unified_diff()
        if diff:
            self._thread.announce(TurnDiffed(diff))

    def _stamped(self, event: EventMsg) -> EventMsg:
        """Fill in the times, which the core does not know."""
        if isinstance(event, TurnStarted):
            return attrs.evolve(event, started_at=int(self._began_at))
        if not isinstance(event, TurnCompleted | TurnAborted):
            return event
        now = self._thread.services.now()
        if isinstance(event, TurnCompleted) and self._first_token_at is not None:
            waited = self._first_token_at - self._began_at
            event = attrs.evolve(event, time_to_first_token_ms=max(int(waited * 1000), 0))
        return timed(event, self._began_at, now)


def _entries(what: TurnInput | EventMsg) -> tuple[Entry, ...]:
    return what.entries if isinstance(what, core.Steered) else ()
