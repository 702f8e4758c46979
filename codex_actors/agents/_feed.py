"""The events of one task, from its first to its last."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TypeAlias, final

import attrs
import trio

from ..actors import WatchCell
from ..protocol import Event, TaskId, TaskRecord, ThreadId, TurnStarted

_Ends: TypeAlias = tuple[trio.MemorySendChannel[Event], trio.MemoryReceiveChannel[Event]]


@final
@attrs.define(eq=False)
class TaskFeed:
    """Keeps what a task's turn announces until somebody reads it.

    It is held by the task's handle alone: when nobody can read it any more, it is gone.
    """

    task_id: TaskId
    thread_id: ThreadId
    record: WatchCell[TaskRecord]
    _kept: list[Event] = attrs.field(factory=list)
    """What came before anybody opened the feed; most are never opened."""
    _ends: _Ends | None = None
    last_at: float = attrs.field(factory=trio.current_time)
    """When the task's agent last said something, on Trio's clock."""
    _begun: bool = False
    _ended: bool = False

    def put(self, events: Iterable[Event]) -> None:
        """Keep what belongs to the task's turn."""
        if self._ended:
            return
        for event in events:
            # A turn that is run again, after a crash, still answers the first submission.
            if isinstance(event.msg, TurnStarted):
                self._begun = event.id == self.task_id
            if self._begun and self._ends is None:
                self._kept.append(event)
            elif self._begun and self._ends is not None:
                self._ends[0].send_nowait(event)
        if self._begun:
            self.last_at = trio.current_time()

    def settle(self, record: TaskRecord) -> None:
        """The task is over: nothing comes after what is kept."""
        self._ended = True
        if self._ends is not None:
            self._ends[0].close()
        self.record.set(record)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[trio.MemoryReceiveChannel[Event], None]:
        """Read what was kept and what comes, to the end of the task."""
        if self._ends is None:
            self._ends = self._channel()
        with self._ends[1].clone() as receive:
            await trio.lowlevel.checkpoint()
            yield receive

    def _channel(self) -> _Ends:
        send, receive = trio.open_memory_channel[Event](math.inf)
        for event in self._kept:
            send.send_nowait(event)
        self._kept.clear()
        if self._ended:
            send.close()
        return send, receive
