"""Runs an agent's turns, one after another, and does all the waiting for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

import attrs
import trio

from ..core import Entry, Phase
from ..protocol import TaskId, TaskInterrupted, TaskOutcome, UserMessageItem, WarningRaised
from ..rollout import JournalError
from ._books import Ended
from ._commons import Commons
from ._deadlines import settling
from ._desk import Desk, Work
from ._preparing import is_prepared, limit_reached, prepare_turn
from ._runner import TurnRun
from ._setup import set_up_turn
from ._slots import Slot
from ._thread import Thread
from ._turn_ends import (
    BROKEN_OFF,
    BROUGHT_DOWN_TWICE,
    CRASHED_TWICE,
    RESTART,
    SHUTDOWN,
    outcome_of,
    reason_of,
    stopped_outcome,
)

if TYPE_CHECKING:
    from ._agent import Living


def brought_down(run: TurnRun) -> bool:
    """Whether a turn ended with its agent, which comes back; some interrupter is called so, too."""
    return run.turn.interrupted_by == RESTART and run.interrupted_by != RESTART


@final
@attrs.define(eq=False)
class Driver:
    """Runs what is queued for one agent."""

    commons: Commons
    desk: Desk
    living: Living

    async def drive(self) -> None:
        """Run turns until none is queued."""
        while (work := self.desk.head()) is not None:
            await self._advance(work)

    async def _advance(self, work: Work) -> None:
        """Prepare the turn where an interrupt finds it; then run it, or say why not."""
        desk = self.desk
        by = desk.withdrawn.get(work.turn_id) or self.living.ended_by
        if by is not None and not work.quiet:
            await self._drop(work, TaskInterrupted(by))
            return
        slot = self.commons.slots.slot(desk.path.text, desk.thread_id)
        refusal: TaskOutcome | None = BROKEN_OFF
        interrupted = False
        if is_prepared(desk, self.living, work, slot):
            await trio.lowlevel.checkpoint()  # the reader reads on before anything is begun
            refusal, interrupted = limit_reached(desk, work), work.turn_id in desk.withdrawn
        else:
            with trio.CancelScope() as desk.preparing:
                refusal = await prepare_turn(desk, self.living, work, slot)
            interrupted = desk.preparing.cancelled_caught or work.turn_id in desk.withdrawn
            desk.preparing = None
        try:
            if interrupted:
                return
            if refusal is not None:
                await self._drop(work, refusal)
            else:
                await self._run(work, slot)
        finally:
            slot.leave()

    async def _drop(self, work: Work, outcome: TaskOutcome) -> None:
        """Take a turn from the queue that is not run."""
        desk = self.desk
        desk.take()
        desk.withdrawn.pop(work.turn_id, None)
        try:
            await self._settle(work, outcome)
            if not isinstance(outcome, TaskInterrupted):
                self._warn(f"the turn was not run: {reason_of(outcome)}")
        finally:
            desk.rest()

    async def _run(self, work: Work, slot: Slot) -> None:
        desk, thread = self.desk, self.living.thread
        assert thread is not None, "a turn runs without memory"
        desk.take()
        desk.task_id, desk.output_schema = work.task_id, work.op.output_schema
        desk.settings = desk.settings_for(work)
        thread.settings = desk.settings
        thread.submission = work.submission or work.turn_id
        for items in desk.take_quiet():
            for entry in items.entries:
                thread.record(entry, "")
        if work.quiet:
            await self._record(thread, work.entries)
        elif work.shell is not None:
            await self._run_alone(thread, work.turn_id, work.shell)
        elif desk.box or not work.wakes:
            await self._run_turn(thread, work, slot)
        else:
            desk.rest()

    async def _record(self, thread: Thread, entries: tuple[Entry, ...]) -> None:
        """Put raw items into the history of an agent that is idle."""
        try:
            for entry in entries:
                thread.record(entry, "")
            await thread.settle()
        finally:
            self.desk.rest()

    async def _run_alone(self, thread: Thread, turn_id: str, command: str) -> None:
        """Run a turn that consists of a command of the user's."""
        try:
            await self.living.shell(thread).run_turn(command, turn_id)
        finally:
            self.desk.rest()

    async def _run_turn(self, thread: Thread, work: Work, slot: Slot) -> None:
        desk, began_at = self.desk, trio.current_time()
        desk.account.begin_turn(began_at)
        run: TurnRun | None = None
        try:
            mail = self.commons.post.entries(desk)
            turn, setup = set_up_turn(work, mail, thread, self.living.workshop.sessions, slot)
            run = desk.run = TurnRun(turn, thread, setup)
            desk.last_turn = work.turn_id
            await run.run(
                self.living.home,
                finish=partial(self._finish, work, run, thread),
                stopped_by=self._stopped_by,
            )
        finally:
            now = trio.current_time()
            desk.account.end_turn(now)
            desk.seconds += now - began_at
            desk.tokens = thread.tokens
            await self._conclude(work, run, thread)

    def _stopped_by(self) -> str:
        """Say who ends a turn whose agent is cancelled."""
        return RESTART if self.desk.comes_back else self.desk.closing or SHUTDOWN

    def _interrupter(self, run: TurnRun | None) -> str | None:
        """Who has interrupted the turn, also if it was ending already for another reason."""
        return (None if run is None else run.interrupted_by) or self.desk.fence

    async def _finish(self, work: Work, run: TurnRun, thread: Thread) -> None:
        """Write down how a turn ended, then tell; together with others that were interrupted."""
        ended, ending = self._ended(work, run, thread), self.desk.ending
        if ending is None or not await ending.end(ended):
            [concluded] = await self.commons.books.conclude([ended])
            concluded.tell()

    def _ended(self, work: Work, run: TurnRun, thread: Thread) -> Ended:
        if not brought_down(run):
            return Ended(thread, work.task_id, outcome_of(run.turn, run.timed_out))
        by = self._interrupter(run)
        if by is not None:
            return Ended(thread, work.task_id, TaskInterrupted(by))
        return Ended(thread, work.task_id if work.again else None, BROUGHT_DOWN_TWICE)

    async def _conclude(self, work: Work, run: TurnRun | None, thread: Thread) -> None:
        """Take up what came too late for a turn, and what its agent could not bring to an end."""
        desk, done = self.desk, False
        try:
            await self._note_delivered(thread, work.turn_id)
            if run is None or not run.finished or brought_down(run):
                await self._leave_open(work, run)
            done = True
        finally:
            if run is not None:
                self._keep(run)
                await self._give_late(run)
            desk.rest()
        if done and run is not None and run.turn.phase is Phase.DONE:
            self.living.mailbox.progressed()
        self.commons.post.after_turn(desk)

    async def _note_delivered(self, thread: Thread, turn_id: str) -> None:
        """Write down which mail is in the history now; the rollout says so already."""
        delivered, thread.delivered = thread.delivered, []
        if delivered:
            with settling():
                await self.commons.books.note_delivered(self.desk, delivered, turn_id)

    async def _leave_open(self, work: Work, run: TurnRun | None) -> None:
        """Have a task whose agent crashed, or was brought down, be run again once.

        An end that was not written did not happen. But nobody runs again what was interrupted.
        """
        if work.task_id is None:
            return
        ending = None
        if run is not None and not brought_down(run):
            ending = stopped_outcome(run.turn, run.timed_out)
        by = self._interrupter(run)
        if ending is None and by is not None:
            ending = TaskInterrupted(by)
        if ending is None and work.again:
            ending = CRASHED_TWICE
        if ending is not None:
            await self._settle(work, ending)
            return
        new_id = self.commons.services.new_id()
        submission = work.submission or work.turn_id
        self.desk.put_back(attrs.evolve(work, turn_id=new_id, submission=submission, again=True))

    async def _settle(self, work: Work, outcome: TaskOutcome) -> None:
        if work.task_id is None:
            await trio.lowlevel.checkpoint()
            return
        with settling():
            problem = await self.commons.books.settle(work.task_id, outcome)
            if problem is not None:
                self._warn(problem)

    def _warn(self, message: str) -> None:
        """Tell people of what is wrong, also if the agent is not loaded."""
        if self.living.thread is None:
            self.commons.hub.warn(self.desk.thread_id, self.desk.path, message)
        else:
            self.living.thread.tell(WarningRaised(message))

    async def _give_late(self, run: TurnRun) -> None:
        """Make tasks of what agents said in the moment the turn ended: they wait for an answer."""
        for late, giver in run.late_from_agents():
            said = [e.shown.content for e in late.entries if isinstance(e.shown, UserMessageItem)]
            task_id: TaskId | None = None
            try:
                with settling():
                    feed = await self.commons.books.assign(
                        self.desk,
                        tuple(item for content in said for item in content),
                        assigned_by=giver.path,
                        reply_to=giver.thread_id,
                        generation=giver.generation,
                    )
                    task_id = self.desk.last_task = feed.task_id
            except JournalError as error:
                self._warn(str(error))
            finally:
                # It was accepted: it is heard, also if nobody can be told what came of it.
                turn_id = task_id or self.commons.services.new_id()
                self.desk.put(Work(turn_id=turn_id, entries=late.entries, task_id=task_id))

    def _keep(self, run: TurnRun) -> None:
        """Have what was accepted in the moment a turn ended be recorded, or answered."""
        for quiet in (True, False):
            entries = run.leftover(quiet=quiet)
            if entries:
                turn_id = self.commons.services.new_id()
                self.desk.put(Work(turn_id=turn_id, entries=entries, quiet=quiet))
