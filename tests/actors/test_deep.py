"""Trees of actors that are deeper than Python's stack."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack

import trio
import trio.testing

from codex_actors.actors import ChildSpec, Mailbox, open_supervisor
from codex_actors.actors._deep import effective_deadline, is_cancellation, ungrouped

GENERATIONS = 400


async def nest(left: int, deadlines: list[float]) -> None:
    """Run an actor that has an actor of its own, and so on."""

    async def behave(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            if left:
                await nest(left - 1, deadlines)
            async for _ in mailbox:
                pass
        finally:
            deadlines.append(effective_deadline())

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="next", behavior=behave))
        await ref.wait_terminated()


async def test_a_deep_tree_can_be_cancelled() -> None:
    """Groups of cancellations in groups were more than Trio can print, and it broke down."""
    deadlines: list[float] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(nest, GENERATIONS - 1, deadlines)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert [-math.inf] * GENERATIONS == deadlines


async def test_the_deadline_is_known_below_any_number_of_scopes() -> None:
    limit = sys.getrecursionlimit()
    with trio.CancelScope(deadline=trio.current_time() + 5) as outer, ExitStack() as scopes:
        await trio.lowlevel.checkpoint()
        for _ in range(2 * limit):
            scopes.enter_context(trio.CancelScope())

        assert outer.deadline == effective_deadline()

    assert limit == sys.getrecursionlimit()


async def test_only_cancellations_are_taken_out_of_their_group() -> None:
    groups: list[BaseExceptionGroup[BaseException]] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                await trio.sleep_forever()
        except BaseExceptionGroup as group:
            groups.append(group)
            raise
    [cancelled] = groups
    mixed = BaseExceptionGroup("both", [*cancelled.exceptions, KeyboardInterrupt()])

    assert isinstance(ungrouped(cancelled), trio.Cancelled)
    assert mixed is ungrouped(mixed)
    assert is_cancellation(cancelled)
    assert not is_cancellation(mixed)
