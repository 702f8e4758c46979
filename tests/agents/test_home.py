"""A nursery that knows whether something in it has crashed."""

from __future__ import annotations

import pytest
import trio

from codex_actors.agents._home import Home


async def crash() -> None:
    await trio.lowlevel.checkpoint()
    raise ZeroDivisionError


async def crash_when_up(*, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await crash()


async def crash_at_once(*, task_status: trio.TaskStatus[None]) -> None:
    await crash()


async def test_a_task_that_raises_is_a_crash() -> None:
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            home = Home(nursery)
            home.start_soon(crash, name="crash")

    assert home.crashed


async def test_a_task_that_was_up_and_raises_is_a_crash() -> None:
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            home = Home(nursery)
            await home.start(crash_when_up, name="crash")

    assert home.crashed


async def test_a_task_that_does_not_come_up_raises_at_whoever_started_it() -> None:
    async with trio.open_nursery() as nursery:
        home = Home(nursery)
        with pytest.raises(ZeroDivisionError):
            await home.start(crash_at_once, name="crash")

        assert not home.crashed


async def test_to_be_cancelled_is_no_crash(schedule: int) -> None:
    with trio.CancelScope() as around:
        async with trio.open_nursery() as nursery:
            home = Home(nursery)
            home.start_soon(trio.sleep_forever, name="one")
            home.start_soon(trio.sleep_forever, name="another")
            around.cancel()

    assert not home.crashed
    assert nursery.cancel_scope.cancel_called, "else the home is of no use"
