from __future__ import annotations

import math

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_actors.actors import BufferTooSmall, Lagged, open_broadcast


async def read_all(channel: trio.abc.ReceiveChannel[int | Lagged]) -> list[int | Lagged]:
    return [item async for item in channel]


async def test_everyone_gets_everything_from_now_on() -> None:
    async with open_broadcast[int]() as broadcast, broadcast.subscribe() as early:
        broadcast.publish(1)
        async with broadcast.subscribe() as late:
            broadcast.publish(2)
            assert await late.receive() == 2
        assert await early.receive() == 1
        assert await early.receive() == 2


async def test_closing_ends_subscribers_after_what_they_still_have() -> None:
    async with open_broadcast[int]() as broadcast:
        subscribed = broadcast.subscribe()
        channel = await subscribed.__aenter__()
        broadcast.publish(1)
        broadcast.publish(2)

    assert await read_all(channel) == [1, 2]
    await subscribed.__aexit__(None, None, None)


async def test_a_waiting_subscriber_learns_of_the_end() -> None:
    read: list[list[int | Lagged]] = []
    async with trio.open_nursery() as nursery:

        async def follow() -> None:
            async with broadcast.subscribe() as channel:
                read.append(await read_all(channel))

        async with open_broadcast[int]() as broadcast:
            nursery.start_soon(follow)
            await trio.testing.wait_all_tasks_blocked()
            broadcast.publish(1)

    assert read == [[1]]


async def test_a_slow_subscriber_is_told_how_much_it_missed_and_goes_on() -> None:
    async with (
        open_broadcast[int]() as broadcast,
        broadcast.subscribe(2) as slow,
        broadcast.subscribe(math.inf) as patient,
    ):
        for item in range(5):
            broadcast.publish(item)
        assert await slow.receive() == Lagged(3)
        broadcast.publish(5)
        assert await slow.receive() == Lagged(1)
        assert await slow.receive() == 4
        assert await slow.receive() == 5
        assert [await patient.receive() for _ in range(6)] == [0, 1, 2, 3, 4, 5]


async def test_the_gap_is_told_even_when_the_broadcast_has_closed() -> None:
    async with open_broadcast[int]() as broadcast:
        subscribed = broadcast.subscribe(1)
        channel = await subscribed.__aenter__()
        broadcast.publish(1)
        broadcast.publish(2)

    assert await read_all(channel) == [Lagged(1), 2]
    await subscribed.__aexit__(None, None, None)


async def test_a_cancelled_receive_loses_nothing() -> None:
    async with open_broadcast[int]() as broadcast, broadcast.subscribe(1) as channel:
        broadcast.publish(1)
        broadcast.publish(2)
        with trio.CancelScope() as scope:
            scope.cancel()
            await channel.receive()
        assert scope.cancelled_caught
        with trio.testing.assert_checkpoints():
            assert await channel.receive() == Lagged(1)
        assert await channel.receive() == 2


async def test_a_closed_channel_does_not_disturb_the_writer() -> None:
    async with open_broadcast[int]() as broadcast, broadcast.subscribe(1) as channel:
        broadcast.publish(1)
        broadcast.publish(2)
        await channel.aclose()
        broadcast.publish(3)
        with pytest.raises(trio.ClosedResourceError):
            await channel.receive()


async def test_after_the_end_nothing_is_published_and_subscribing_gives_an_ended_channel() -> None:
    async with open_broadcast[int]() as broadcast:
        pass
    with pytest.raises(trio.ClosedResourceError, match="was closed"):
        broadcast.publish(1)
    async with broadcast.subscribe() as channel:
        assert await read_all(channel) == []


async def test_a_buffer_without_room_is_refused() -> None:
    async with open_broadcast[int]() as broadcast:
        with pytest.raises(BufferTooSmall, match="room for 0 items"):
            async with broadcast.subscribe(0):
                raise AssertionError


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 6), max_size=8))
def test_what_is_read_and_what_is_missed_add_up_in_order(size: int, bursts: list[int]) -> None:
    """Whatever the pace, items come in order and each gap says how many are missing."""

    async def main() -> list[int | Lagged]:
        read: list[int | Lagged] = []
        count = 0
        async with open_broadcast[int]() as broadcast, broadcast.subscribe(size) as channel:
            for burst in bursts:
                for _ in range(burst):
                    broadcast.publish(count)
                    count += 1
                if burst:
                    read.append(await channel.receive())
            broadcast.publish(count)
            while not read or read[-1] != count:
                read.append(await channel.receive())
        return read

    expected = 0
    for item in trio.run(main):
        if isinstance(item, Lagged):
            expected += item.missed
        else:
            assert item == expected
            expected += 1
