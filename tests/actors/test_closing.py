"""Ends that cross: stopping while starting, from inside, and together with other ends."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorRef,
    ActorTerminated,
    ChildSpec,
    CloseReport,
    Exit,
    Mailbox,
    OwnEnd,
    Restart,
    RestartLimit,
    RestartLimitExceeded,
    open_supervisor,
)

BOOM = RuntimeError("boom")


async def fragile(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for _ in mailbox:
        raise BOOM


async def of_two_tasks(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        task_status.started()
        async for _ in mailbox:
            pass
        nursery.cancel_scope.cancel()


# While starting


@pytest.mark.parametrize("polite", [True, False])
async def test_who_waits_for_a_start_is_told_that_the_child_was_stopped(
    polite: bool,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The supervisor is not closing, so that is not what `start` may say."""

    async def slow(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        refs.append(mailbox.myself)
        async for _ in mailbox:
            pass
        if not polite:
            await trio.sleep_forever()

    async def start() -> None:
        with pytest.raises(ActorTerminated, match="'/root/s' was stopped before it was running"):
            await supervisor.start(ChildSpec(name="s", behavior=slow, grace=3))

    refs: list[ActorRef[str]] = []
    async with open_supervisor() as supervisor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(start)
            await trio.testing.wait_all_tasks_blocked()
            report = await supervisor.stop(refs[0])

        assert report == CloseReport(
            exit=Exit("stopped" if polite else "killed"),
            seconds=0 if polite else 3,
            grace_ran_out=not polite,
        )


# From inside


async def test_an_actor_cannot_wait_for_its_own_end_nor_can_what_is_in_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It would sleep until its grace had run out, which it may not have."""
    refused: list[str] = []

    async def stop(ref: ActorRef[str]) -> None:
        with pytest.raises(OwnEnd, match="cannot wait for its own end") as caught:
            await supervisor.stop(ref)
        refused.append(str(caught.value))

    async def leaf(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        await stop(parents[0])
        task_status.started()

    async def parent(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        parents.append(mailbox.myself)
        await stop(mailbox.myself)
        async with (
            trio.open_nursery() as nursery,
            open_supervisor(mailbox.myself.path) as inner,
        ):
            nursery.start_soon(stop, mailbox.myself)
            await inner.start(ChildSpec(name="leaf", behavior=leaf))
            task_status.started()
            async for _ in mailbox:
                pass

    parents: list[ActorRef[str]] = []
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="p", behavior=parent))
        await trio.testing.wait_all_tasks_blocked()
        await ref.send("still there")
        assert (await supervisor.stop(ref)).exit == Exit("stopped")

    assert (
        refused
        == [
            "actor '/root/p' cannot wait for its own end; return from its behavior, or let a task"
            " outside of it do that"
        ]
        * 3
    )
    assert trio.current_time() == 0


async def test_a_child_may_stop_its_sibling() -> None:
    async def killer(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        reports.append(await supervisor.stop(sibling))
        task_status.started()

    reports: list[CloseReport] = []
    async with open_supervisor() as supervisor:
        sibling = await supervisor.start(ChildSpec(name="s", behavior=of_two_tasks))
        await supervisor.start(ChildSpec(name="k", behavior=killer))

    assert [report.exit for report in reports] == [Exit("stopped")]


async def test_a_permanent_actor_that_floods_its_own_mailbox_can_be_stopped() -> None:
    """It fails at its next word to itself, as anybody would, and that is in its exit."""

    async def echo(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async for message in mailbox:
            for _ in range(2):
                await mailbox.myself.send(message)

    async with open_supervisor() as supervisor:
        spec = ChildSpec(name="e", behavior=echo, restart=Restart.PERMANENT, mailbox_size=3)
        ref = await supervisor.start(spec)
        await ref.send("echo")
        await trio.testing.wait_all_tasks_blocked()
        report = await supervisor.stop(ref)

    assert report.exit.reason == "crashed"
    assert isinstance(report.exit.crash, ActorTerminated)
    assert not report.grace_ran_out


# Together with a cancellation from outside


async def test_an_exception_of_the_body_is_bare_beside_cancelled_nurseries_of_children() -> None:
    error = ValueError("mine")

    async def block() -> None:
        async with open_supervisor() as supervisor:
            await supervisor.start(ChildSpec(name="s", behavior=of_two_tasks))
            scope.cancel()
            raise error

    with trio.CancelScope() as scope, pytest.raises(ValueError, match="mine") as caught:
        await block()

    assert caught.value is error


async def test_a_supervisor_that_crashes_while_it_is_cancelled_says_so_in_one_error() -> None:
    async def block() -> None:
        async with open_supervisor(limit=RestartLimit(max_restarts=0)) as supervisor:
            await supervisor.start(ChildSpec(name="s", behavior=of_two_tasks))
            ref = await supervisor.start(ChildSpec(name="f", behavior=fragile))
            await ref.send("crash")
            try:
                await trio.sleep_forever()
            finally:
                scope.cancel()

    with trio.CancelScope() as scope, pytest.raises(RestartLimitExceeded) as caught:
        await block()

    assert isinstance(caught.value.__cause__, BaseExceptionGroup)
    assert BOOM in caught.value.__cause__.exceptions
