from __future__ import annotations

import pytest
import trio
import trio.testing

from codex_actors.rollout._batches import Batches


class Press:
    """Something that is written slowly, and says when."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.batches = Batches(self.write)

    async def write(self) -> None:
        self.log.append("begin")
        await trio.sleep(1)
        self.log.append("end")


async def test_those_who_come_meanwhile_share_the_next(
    autojump_clock: trio.testing.MockClock,
) -> None:
    press = Press()

    async def run(name: str) -> None:
        await press.batches.run()
        press.log.append(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, "a")
        await trio.sleep(0.5)
        nursery.start_soon(run, "b")
        nursery.start_soon(run, "c")

    assert ["begin", "end"] == press.log[:2]
    assert ["a", "b", "begin", "c", "end"] == sorted(press.log[2:])
    assert 2 == press.batches.count


async def test_who_comes_waits_for_a_write_that_began_later(
    autojump_clock: trio.testing.MockClock,
) -> None:
    press = Press()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(press.batches.run)
        await trio.sleep(0.5)
        running = press.batches.running
        await press.batches.run()
        nursery.cancel_scope.cancel()

    assert (True, 2.0) == (running, trio.current_time())
    assert not press.batches.running


async def test_the_next_takes_over_from_one_that_is_cancelled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    press = Press()
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def doomed() -> None:
            with scope:
                await press.batches.run()

        nursery.start_soon(doomed)
        await trio.sleep(0.5)
        nursery.start_soon(press.batches.run)
        await trio.sleep(0.1)
        scope.cancel()

    assert ["begin", "begin", "end"] == press.log


async def test_waiting_for_the_current_one(autojump_clock: trio.testing.MockClock) -> None:
    press = Press()
    await press.batches.wait_current()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(press.batches.run)
        await trio.sleep(0.25)
        await press.batches.wait_current()

    assert 1.0 == trio.current_time()


async def test_a_write_that_raises_fails_its_caller_and_nobody_else() -> None:
    failures = [OSError("no")]

    async def write() -> None:
        await trio.lowlevel.checkpoint()
        if failures:
            raise failures.pop()

    batches = Batches(write)
    with pytest.raises(OSError, match="no"):
        await batches.run()
    await batches.run()

    assert 2 == batches.count
