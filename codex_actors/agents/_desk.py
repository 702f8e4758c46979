"""What the tree keeps of one agent, across its restarts."""

from __future__ import annotations

from collections import deque
from typing import final

import attrs
import trio

from ..actors import ReplyPort, WatchCell
from ..core import Entry, Interrupted
from ..protocol import (
    AgentPath,
    Settings,
    Submission,
    TaskId,
    ThreadId,
    TokenUsageInfo,
    UserTurn,
    Verdict,
)
from ._runner import TurnRun


@final
@attrs.frozen(kw_only=True)
class Work:
    """A turn that is to be run."""

    turn_id: str
    op: UserTurn
    entries: tuple[Entry, ...]
    """The input, as the history will hold it."""
    shell: str | None = None
    """A command of the user's: it is run, and no model is asked."""
    task_id: TaskId | None = None


@final
@attrs.frozen(kw_only=True)
class Envelope:
    """A submission on its way to an agent's reader."""

    submission: Submission
    entries: tuple[Entry, ...] = ()
    """Its input, prepared by the sender: the reader only reads."""
    task_id: TaskId | None = None
    reply: ReplyPort[Verdict]


@final
@attrs.define(eq=False, kw_only=True)
class Desk:
    """One agent's place in the tree: what it has to do, and what it is doing."""

    path: AgentPath
    thread_id: ThreadId
    settings: Settings
    """As the next turn will find them."""
    run: TurnRun | None = None
    """The turn that is running."""
    output_schema: object = None
    """What the running turn's last message must satisfy."""
    task_id: TaskId | None = None
    """The task that the running turn works on."""
    busy: WatchCell[bool] = attrs.field(factory=lambda: WatchCell(value=False))
    """Whether a turn runs or waits to be run."""
    begun: bool = False
    """Whether the agent has lived before; then its thread is on disk."""
    shells: dict[trio.CancelScope, str | None] = attrs.field(factory=dict)
    """Commands of the user's that run, and who has asked for their end."""
    withdrawn: dict[str, str] = attrs.field(factory=dict)
    """Turns that were interrupted before they began, and by whom."""
    tokens: TokenUsageInfo = TokenUsageInfo()
    """What the thread has used, as of its last response."""
    _queue: deque[Work] = attrs.field(factory=deque)
    _waiting: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    _closed: bool = False

    def put(self, work: Work) -> None:
        """Queue a turn. Not a checkpoint."""
        self._queue.append(work)
        self.busy.set(value=True)
        self._waiting.unpark()

    async def wait(self) -> Work:
        """Wait for the next turn to run, and leave it where it is.

        Raises:
            trio.EndOfChannel: if the desk was closed, and nothing waits any more.

        Cancellation: nothing has happened.
        """
        if self._queue or self._closed:
            await trio.lowlevel.checkpoint()
        while not self._queue:
            if self._closed:
                raise trio.EndOfChannel
            await self._waiting.park()
        return self._queue[0]

    def take(self) -> Work:
        """Take the turn that `wait` returned. Not a checkpoint."""
        return self._queue.popleft()

    def rest(self) -> None:
        """Note that no turn runs any more. Not a checkpoint."""
        self.run = self.task_id = self.output_schema = None
        self.busy.set(value=bool(self._queue))

    def close(self) -> None:
        """Take no more turns, and end the one that runs. Not a checkpoint."""
        self._closed = True
        self.interrupt("shutdown")
        self._waiting.unpark_all()

    def interrupt(self, by: str) -> None:
        """End the running turn, and have the waiting ones end before they begin.

        Not a checkpoint.
        """
        self.withdrawn |= {work.turn_id: by for work in self._queue}
        if self.run is not None:
            self.run.post(Interrupted(by))
        for scope in self.shells:
            self.shells[scope] = by
            scope.cancel(reason=f"interrupted by {by}")
