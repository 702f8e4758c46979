from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from codex_actors.agents._on_demand import OnDemand


async def test_what_is_opened_again_while_it_is_being_closed_is_one_and_can_be_closed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    opened: list[int] = []

    @asynccontextmanager
    async def open_it() -> AsyncGenerator[int, None]:
        opened.append(len(opened))
        try:
            yield opened[-1]
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)

    with trio.fail_after(100):
        async with trio.open_nursery() as home:
            thing = OnDemand(home, open_it, "thing")
            assert 0 == await thing.get()
            thing.ask()
            await trio.sleep(1)
            assert 1 == await thing.get()
            await trio.sleep(10)
            assert (1, 1) == (thing.value, await thing.get())
            await thing.close()
            assert thing.value is None

    assert [0, 1] == opened


async def test_nothing_is_opened_when_its_home_has_ended_meanwhile() -> None:
    over = trio.Event()

    @asynccontextmanager
    async def open_it() -> AsyncGenerator[None, None]:
        yield

    async with trio.open_nursery() as asking, trio.open_nursery() as home:
        thing = OnDemand(home, open_it, "thing", is_over=over.is_set)

        async def ask() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await thing.get()

        asking.start_soon(ask)
        over.set()

    assert thing.value is None
