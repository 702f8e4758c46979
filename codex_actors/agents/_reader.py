"""What an agent answers to what it is told; nothing in here waits but for the next message."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, final

import attrs
import trio

from ..actors import Mailbox
from ..core import Entry, Steered, decide_steer
from ..protocol import (
    Accepted,
    Decide,
    InjectItems,
    Interrupt,
    OverrideSettings,
    Refused,
    RunUserShellCommand,
    Shutdown,
    Steer,
    UnknownOp,
    UserTurn,
    Verdict,
)
from ._commons import Commons
from ._desk import Desk, Envelope, Work
from ._guarding import answer_question
from ._overrides import apply_overrides

if TYPE_CHECKING:
    from ._agent import Living


@final
@attrs.frozen(eq=False)
class Reader:
    """Answers submissions."""

    commons: Commons
    desk: Desk
    living: Living

    async def read(self, mailbox: Mailbox[Envelope]) -> None:
        """Answer submissions until the agent is to end."""
        async for envelope in mailbox:
            envelope.reply.send(self._handle(envelope))
            if isinstance(envelope.submission.op, Shutdown):
                self.desk.closing = self.desk.closing or "shutdown"
                self.desk.dismissed = True
                return

    def _handle(self, envelope: Envelope) -> Verdict:
        op, name = envelope.submission.op, envelope.submission.id
        match op:
            case UserTurn():
                return self._start_or_steer(envelope, op)
            case Steer():
                return self._steer(envelope, op.expected_turn_id)
            case OverrideSettings(overrides):
                self.desk.settings = apply_overrides(self.desk.settings, overrides)
                return Accepted()
            case InjectItems(items):
                return self._inject(name, tuple(map(Entry, items)))
            case RunUserShellCommand(command):
                return self._run_command(name, command)
            case Decide():
                return answer_question(self.commons, self.desk, op)
            case Interrupt(by):
                self.desk.fence = by
                self.desk.interrupt(by)
                return Accepted(turn_id=self._turn_id)
            case Shutdown():
                return Accepted()
            case UnknownOp(kind):
                return Refused("unknown_op", f"this version knows no operation {kind!r}")
            case _:
                assert_never(op)

    @property
    def _turn_id(self) -> str | None:
        return None if self.desk.run is None else self.desk.run.turn.id

    @property
    def _stopping(self) -> bool:
        return self.desk.run is not None and self.desk.run.stopping

    def _start_or_steer(self, envelope: Envelope, op: UserTurn) -> Verdict:
        busy = self._turn_id is not None and not self._stopping
        if envelope.task_id is not None or not busy:
            turn_id = envelope.submission.id
            work = Work(
                turn_id=turn_id,
                op=op,
                entries=envelope.entries,
                task_id=envelope.task_id,
                seconds=envelope.seconds,
            )
            if envelope.interrupts < self.desk.interrupts:
                # An agent that was down reads late: whoever sent it may be long gone.
                self.desk.put_withdrawn(work)
            else:
                self.commons.post.go_on(self.desk, work)
            return Accepted(turn_id=turn_id)
        if op.output_schema is not None and op.output_schema != self.desk.output_schema:
            return Refused(
                "schema_mismatch",
                f"turn {self._turn_id!r} answers in another form; wait for its end",
            )
        return self._steer(envelope, None)

    def _steer(self, envelope: Envelope, expected: str | None) -> Verdict:
        refused = decide_steer(
            active_turn_id=self._turn_id,
            expected_turn_id=expected,
            stopping=self._stopping,
            empty=not envelope.entries,
        )
        if refused is not None:
            return refused
        assert self.desk.run is not None
        self.desk.run.steer(Steered(envelope.entries), envelope.giver)
        self.desk.arrivals.set(self.desk.arrivals.get() + 1)
        return Accepted(turn_id=self._turn_id, steered=True)

    def _inject(self, name: str, entries: tuple[Entry, ...]) -> Verdict:
        if self.desk.run is not None and not self._stopping:
            self.desk.run.post(Steered(entries, quiet=True))
        else:
            self.desk.put(Work(turn_id=name, entries=entries, quiet=True))
        return Accepted(turn_id=self._turn_id)

    def _run_command(self, turn_id: str, command: str) -> Verdict:
        if self._turn_id is None:
            self.desk.put(Work(turn_id=turn_id, shell=command))
            return Accepted(turn_id=turn_id)
        self.living.home.start_soon(self._run_beside, command, self._turn_id, name="user's command")
        return Accepted(turn_id=self._turn_id)

    async def _run_beside(self, command: str, turn_id: str) -> None:
        """Run a command beside the turn that is running."""
        thread = self.living.thread
        assert thread is not None, "a turn runs without memory"
        ran = await self.living.shell(thread).run(command, turn_id)
        self._inject(self.commons.services.new_id(), (Entry(ran.message),))
        await trio.lowlevel.checkpoint()
