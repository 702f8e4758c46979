"""The seeding of Trio's scheduler, which the ``schedule`` fixture does, still works."""

from __future__ import annotations

import trio
import trio._core._run


def order(seed: int) -> tuple[int, ...]:
    ran: list[int] = []

    async def note(number: int) -> None:
        await trio.lowlevel.checkpoint()
        ran.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(note, number)

    trio._core._run._r.seed(seed)
    trio.run(main)
    return tuple(ran)


def test_a_seed_is_one_order_and_seeds_are_different_orders() -> None:
    orders = [order(seed) for seed in range(6)]

    assert orders == [order(seed) for seed in range(6)]
    assert len(set(orders)) > 1
