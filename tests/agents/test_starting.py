"""Agents that cannot start say why, in the words of what kept them from it."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
import trio

from codex_actors.agents import AgentServices, AgentSpec, NoRoom, open_agents
from codex_actors.protocol import Capacity, RolloutPayload, ThreadId
from codex_actors.rollout import FlushReport, MemoryRecorder, Recorder, RecorderStatistics, Rollout

from .support import open_tree, remember, settings, toolbox


@attrs.define(eq=False)
class Broken:
    """A recorder with a bug."""

    inner: Recorder = attrs.field(factory=MemoryRecorder)
    bugs: int = 1

    @property
    def report(self) -> FlushReport:
        return self.inner.report

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        if self.bugs:
            self.bugs -= 1
            raise RuntimeError("boom")
        self.inner.append(thread_id, payload)

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        self.inner.adopt(thread_id, path, next_ordinal=next_ordinal)

    def path(self, thread_id: ThreadId) -> str | None:
        return self.inner.path(thread_id)

    def statistics(self) -> RecorderStatistics:
        return self.inner.statistics()

    async def flush(self, *, sync: bool = False) -> FlushReport:
        return await self.inner.flush(sync=sync)

    async def read(self, thread_id: ThreadId) -> Rollout:
        return await self.inner.read(thread_id)


async def test_a_child_that_finds_no_room_says_so(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    model = remember([{"call": "slow", "args": {}}])
    async with open_tree(tmp_path, model, capacity=Capacity(loaded=1)) as tree:
        root = await tree.spawn()
        await root.assign("go")
        await trio.sleep(1)
        with pytest.raises(NoRoom):
            await root.spawn(AgentSpec(name="child"))


async def test_a_start_that_runs_into_a_bug_raises_it_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    services = AgentServices(model=remember(), toolbox=toolbox, recorder=Broken())
    async with open_agents(settings(tmp_path), services=services) as tree:
        with pytest.raises(RuntimeError, match="boom"):
            await tree.spawn()
        root = await tree.spawn()

        assert root.path.text == "/root"
