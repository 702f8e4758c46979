"""A recorder that has a bug."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from codex_actors.protocol import EventLine, EventMsg, RolloutPayload, ThreadId
from codex_actors.rollout import FlushReport, MemoryRecorder, Recorder, RecorderStatistics, Rollout


@attrs.define(eq=False, kw_only=True)
class Breaking:
    """Passes everything on to a recorder in memory, and raises once."""

    append_breaks: Callable[[RolloutPayload], bool] = lambda line: False
    """Whether a line cannot be appended."""
    flush_breaks: Callable[[Sequence[RolloutPayload]], bool] = lambda lines: False
    """Whether lines that wait cannot be flushed."""
    inner: Recorder = attrs.field(factory=MemoryRecorder)
    broke: bool = False
    _waiting: list[RolloutPayload] = attrs.field(factory=list)

    @property
    def report(self) -> FlushReport:
        return self.inner.report

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        self._break(self.append_breaks(payload))
        self._waiting.append(payload)
        self.inner.append(thread_id, payload)

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        self.inner.adopt(thread_id, path, next_ordinal=next_ordinal)

    def path(self, thread_id: ThreadId) -> str | None:
        return self.inner.path(thread_id)

    def statistics(self) -> RecorderStatistics:
        return self.inner.statistics()

    async def flush(self, *, sync: bool = False) -> FlushReport:
        self._break(self.flush_breaks(self._waiting))
        self._waiting.clear()
        return await self.inner.flush(sync=sync)

    async def read(self, thread_id: ThreadId) -> Rollout:
        return await self.inner.read(thread_id)

    def _break(self, due: bool) -> None:
        if due and not self.broke:
            self.broke = True
            raise RuntimeError("boom")


def holds(kind: type[EventMsg]) -> Callable[[Sequence[RolloutPayload]], bool]:
    """Whether an event of that kind is among the lines."""
    return lambda lines: any(isinstance(e, EventLine) and isinstance(e.msg, kind) for e in lines)
