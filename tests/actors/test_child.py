"""What a child can be made from, and what a nursery-shaped crash becomes."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ChildSpec,
    Exit,
    InvalidName,
    Mailbox,
    NotABehavior,
    open_supervisor,
)


async def idle(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for _ in mailbox:
        pass


CORRECTION = r"supervisor\.start\(ChildSpec\(name='idle', behavior=idle\)\)"


async def test_a_coroutine_is_refused_with_the_corrected_line() -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="x", behavior=idle))
        for wrong in (idle(Mailbox(ref._cell), task_status=trio.TASK_STATUS_IGNORED), idle):
            with pytest.raises(NotABehavior, match=CORRECTION):
                await supervisor.start(wrong)  # type: ignore[arg-type]


async def test_a_spec_refuses_a_coroutine_with_the_corrected_line() -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="x", behavior=idle))
        coroutine = idle(Mailbox(ref._cell), task_status=trio.TASK_STATUS_IGNORED)
        with pytest.raises(TypeError, match=CORRECTION):
            ChildSpec(name="idle", behavior=coroutine)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_is_one_step_of_a_path(name: str) -> None:
    with pytest.raises(InvalidName, match="cannot be named"):
        ChildSpec(name=name, behavior=idle)


async def test_started_counts_once_and_not_after_the_end() -> None:
    leaked: list[trio.TaskStatus[None]] = []

    async def twice(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        task_status.started()
        leaked.append(task_status)
        async for _ in mailbox:
            pass

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="t", behavior=twice))
    leaked[0].started()

    assert ref.status.get() == Exit("stopped")


async def crash_in_a_nursery(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
    """Crash in one task of a nursery, at the moment when the rest of it is cancelled."""

    async def fail_late() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise OSError("torn")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail_late)
        nursery.start_soon(trio.sleep_forever)
        task_status.started()


async def test_a_crash_among_cancellations_is_in_the_exit_and_goes_nowhere_else() -> None:
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            ref = await supervisor.start(ChildSpec(name="c", behavior=crash_in_a_nursery))
            sibling = await supervisor.start(ChildSpec(name="s", behavior=idle))
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            await trio.sleep_forever()

    ending = ref.status.get()
    assert isinstance(ending, Exit)
    assert ending.reason == "crashed"
    assert isinstance(ending.crash, ExceptionGroup)
    assert [repr(exc) for exc in ending.crash.exceptions] == ["OSError('torn')"]
    assert sibling.status.get() == Exit("killed")


async def test_a_nursery_that_is_only_cancelled_is_killed() -> None:
    async def two_tasks(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        try:
            task_status.started()
            await trio.sleep_forever()
        except trio.Cancelled as exc:
            raise BaseExceptionGroup("of a nursery", [exc]) from None

    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            ref = await supervisor.start(ChildSpec(name="c", behavior=two_tasks))
            scope.cancel()
            await trio.sleep_forever()

    assert ref.status.get() == Exit("killed")
