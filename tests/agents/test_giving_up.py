"""Whoever stops waiting for a call leaves nothing behind that nobody works on."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from codex_actors.agents import AgentServices, open_agents

from .faulty import LATENCY, Ledger, journal_on
from .support import remember, settings, toolbox


async def test_a_task_that_was_written_for_a_giver_who_is_gone_ends_and_is_not_forgotten(
    tmp_path: Path, schedule: int, autojump_clock: trio.testing.MockClock
) -> None:
    journal = journal_on(Ledger())
    services = AgentServices(model=remember(), toolbox=toolbox, journal=journal)
    async with open_agents(settings(tmp_path), services=services) as tree:
        root = await tree.spawn()
        async with trio.open_nursery() as nursery:
            # Who comes while somebody writes is written for by one of those who came as well.
            for text in ("one", "two"):
                nursery.start_soon(root.send, text)
            await trio.sleep(LATENCY / 2)
            with trio.move_on_after(LATENCY):
                await root.assign("go")
        await trio.sleep(10)

        assert () == journal.unsettled()
