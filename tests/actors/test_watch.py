from __future__ import annotations

import signal

import pytest
import trio
import trio.testing

from codex_actors.actors import WatchCell


async def test_a_value_that_matches_already_is_returned_at_once() -> None:
    cell = WatchCell(3)
    with trio.testing.assert_checkpoints():
        value = await cell.wait_value(lambda value: value > 2)

    assert value == 3
    assert cell.get() == 3


async def test_no_value_is_missed_however_briefly_it_was_there() -> None:
    cell = WatchCell(0)
    matched: list[int] = []

    async def wait_one() -> None:
        matched.append(await cell.wait_value(lambda value: value == 1))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_one)
        await trio.testing.wait_all_tasks_blocked()
        cell.set(1)
        cell.set(2)

    assert matched == [1]
    assert cell.get() == 2


async def test_only_those_whose_predicate_holds_are_woken() -> None:
    cell = WatchCell(0)
    woken: list[tuple[int, int]] = []

    async def wait_over(bound: int) -> None:
        woken.append((bound, await cell.wait_value(lambda value: value > bound)))

    async with trio.open_nursery() as nursery:
        for bound in range(3):
            nursery.start_soon(wait_over, bound)
        await trio.testing.wait_all_tasks_blocked()
        cell.set(1)
        await trio.testing.wait_all_tasks_blocked()
        assert woken == [(0, 1)]
        cell.set(5)

    assert sorted(woken) == [(0, 1), (1, 5), (2, 5)]


async def test_a_predicate_that_raises_fails_its_own_waiter_and_nobody_else() -> None:
    cell = WatchCell[int | str](1)
    failures: list[str] = []

    async def wait_badly() -> None:
        with pytest.raises(ValueError, match="invalid literal") as caught:
            await cell.wait_value(lambda value: int(value) > 1)
        failures.append(str(caught.value))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_badly)
        nursery.start_soon(cell.wait_value, lambda value: value == "x")
        await trio.testing.wait_all_tasks_blocked()
        cell.set("x")

    assert failures == ["invalid literal for int() with base 10: 'x'"]


async def test_a_predicate_that_raises_at_once_raises_at_once() -> None:
    cell = WatchCell("x")
    with pytest.raises(ValueError, match="invalid literal"):
        await cell.wait_value(lambda value: int(value) > 1)


async def test_a_cancelled_waiter_is_forgotten() -> None:
    cell = WatchCell(0)
    seen: list[int] = []

    def spy(value: int) -> bool:
        seen.append(value)
        return False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cell.wait_value, spy)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    cell.set(1)

    assert seen == [0]


async def test_changes_begin_with_the_present_and_go_on_with_the_latest() -> None:
    cell = WatchCell(0)
    async with cell.changes() as values:
        cell.set(1)
        cell.set(2)
        first = await values.receive()
        cell.set(2)
        second = await values.receive()

    assert (first, second) == (2, 2)


async def test_a_reader_of_changes_waits_for_the_next() -> None:
    cell = WatchCell("a")
    read: list[str] = []

    async def follow() -> None:
        async with cell.changes() as values:
            async for value in values:
                read.append(value)
                if value == "c":
                    break

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        for value in ["b", "c", "d"]:
            await trio.testing.wait_all_tasks_blocked()
            cell.set(value)

    assert read == ["a", "b", "c"]


async def test_leaving_changes_closes_the_channel_and_leaves_the_cell_alone() -> None:
    cell = WatchCell(0)
    async with cell.changes() as left, cell.changes() as other:
        await left.aclose()
        cell.set(1)
        assert await other.receive() == 1
    cell.set(2)

    for values in (left, other):
        with pytest.raises(trio.ClosedResourceError):
            await values.receive()


def test_ctrl_c_in_the_middle_of_set_loses_no_waiter() -> None:
    woken: list[int] = []

    def press(value: int) -> bool:
        if value:
            signal.raise_signal(signal.SIGINT)
        return bool(value)

    async def main() -> None:
        async def wait() -> None:
            woken.append(await cell.wait_value(press))

        cell = WatchCell(0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            cell.set(1)

    with pytest.raises(BaseExceptionGroup) as caught:
        trio.run(main)

    assert woken == [1, 1]
    assert isinstance(caught.value.exceptions[0], KeyboardInterrupt)


async def test_a_predicate_that_cancels_a_waiter_does_not_reach_the_writer() -> None:
    """Itself, another that is asked later, and one that was asked before."""
    cell = WatchCell(0)
    scopes = [trio.CancelScope() for _ in range(3)]

    def cancel_all(value: int) -> bool:
        for scope in scopes:
            if value:
                scope.cancel()
        return bool(value)

    async def wait(scope: trio.CancelScope) -> None:
        with scope:
            await cell.wait_value(cancel_all)

    async with trio.open_nursery() as nursery:
        for scope in scopes:
            nursery.start_soon(wait, scope)
        await trio.testing.wait_all_tasks_blocked()
        cell.set(1)

    assert [scope.cancelled_caught for scope in scopes] == [True, True, True]
