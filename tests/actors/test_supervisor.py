"""Each of these was a hang, a zombie or a lost crash once."""

from __future__ import annotations

import math

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorRef,
    Behavior,
    ChildSpec,
    CloseReport,
    Exit,
    Mailbox,
    NameTaken,
    NeverStarted,
    NotAChild,
    Restart,
    RestartLimit,
    RestartLimitExceeded,
    Supervisor,
    SupervisorClosing,
    SupervisorStatistics,
    open_supervisor,
)
from codex_actors.actors._supervisor import HEADROOM

BOOM = RuntimeError("boom")
NO_RESTARTS = RestartLimit(max_restarts=0)


@attrs.frozen
class Crash:
    pass


@attrs.frozen
class Progress:
    pass


async def worker(mailbox: Mailbox[Crash | Progress], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    async for message in mailbox:
        match message:
            case Crash():
                raise BOOM
            case Progress():
                mailbox.progressed()


async def stubborn(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await trio.sleep_forever()


async def never_ready(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
    await trio.sleep_forever()


def crashing_on_exit(error: Exception) -> Behavior[object]:
    async def behavior(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            async for _ in mailbox:
                pass
        finally:
            raise error

    return behavior


async def start_worker(
    supervisor: Supervisor, name: str = "w", restart: Restart = Restart.TRANSIENT
) -> ActorRef[Crash | Progress]:
    return await supervisor.start(ChildSpec(name=name, behavior=worker, restart=restart))


async def escalate(name: str = "w", refs: list[ActorRef[Crash | Progress]] | None = None) -> None:
    """Leave a supervisor by the crash of a child that may not be restarted."""
    async with open_supervisor(limit=NO_RESTARTS) as supervisor:
        started = [await start_worker(supervisor, name), await start_worker(supervisor, "sibling")]
        if refs is not None:
            refs += started
        await started[0].send(Crash())
        await trio.sleep_forever()


# Starting


async def test_start_up_errors_reach_the_caller_and_no_actor_exists() -> None:
    error = OSError("no such sandbox")

    async def broken(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        raise error

    async with open_supervisor() as supervisor:
        for restart in Restart:
            with pytest.raises(OSError, match="no such sandbox") as caught:
                await supervisor.start(ChildSpec(name="b", behavior=broken, restart=restart))
            assert caught.value is error
        assert supervisor.statistics() == SupervisorStatistics(
            children=(), restarts=0, closing=False
        )


@pytest.mark.parametrize("restart", Restart)
async def test_returning_before_running_is_an_error(restart: Restart) -> None:
    async def hasty(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        pass

    async with open_supervisor() as supervisor:
        with pytest.raises(NeverStarted, match="'/root/h' returned before it was running"):
            await supervisor.start(ChildSpec(name="h", behavior=hasty, restart=restart))


async def test_a_name_is_free_again_when_its_bearer_is_gone() -> None:
    async with open_supervisor() as supervisor:
        first = await start_worker(supervisor)
        with pytest.raises(NameTaken, match="already has a child named 'w'"):
            await start_worker(supervisor)
        await supervisor.stop(first)
        second = await start_worker(supervisor)

        assert first != second
        assert (first.status.get(), second.status.get()) == (Exit("stopped"), "running")


async def test_cancelling_start_cancels_the_start_up_and_waits_for_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Also when it says at the last moment that it is running, and is permanent."""
    cleaned: list[float] = []

    async def slow(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(2)
            cleaned.append(trio.current_time())
            task_status.started()

    async with open_supervisor() as supervisor:
        with trio.move_on_after(1):
            await supervisor.start(ChildSpec(name="s", behavior=slow, restart=Restart.PERMANENT))
        assert cleaned == [trio.current_time()]
        assert supervisor.statistics().children == ()


async def test_waiting_for_a_cancelled_start_up_is_bounded_by_its_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def zombie(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(100)

    start = trio.current_time()
    async with open_supervisor() as supervisor:
        with trio.move_on_after(1):
            await supervisor.start(ChildSpec(name="z", behavior=zombie, grace=3))
        assert trio.current_time() - start == 4
        assert supervisor.statistics().children == ("z",)

    assert trio.current_time() - start == 100


async def test_a_closing_supervisor_refuses_to_start() -> None:
    refused: list[str] = []

    async def late(mailbox: Mailbox[int], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            async for _ in mailbox:
                pass
        finally:
            with pytest.raises(SupervisorClosing) as caught:
                await start_worker(supervisor)
            refused.append(str(caught.value))

    async def leave_badly(supervisor: Supervisor) -> None:
        await supervisor.start(ChildSpec(name="l", behavior=late))
        raise KeyError

    async with open_supervisor() as supervisor:
        await supervisor.start(ChildSpec(name="l", behavior=late))
    with pytest.raises(SupervisorClosing):
        await start_worker(supervisor)
    with pytest.raises(KeyError):
        async with open_supervisor() as supervisor:
            await leave_badly(supervisor)

    assert refused == ["supervisor '/root' is closing; start children before its block is left"] * 2


async def test_a_start_that_was_under_way_when_the_supervisor_closed_is_refused(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def start() -> None:
        with pytest.raises(SupervisorClosing):
            await supervisor.start(ChildSpec(name="n", behavior=never_ready, grace=2))

    async with trio.open_nursery() as nursery, open_supervisor() as supervisor:
        nursery.start_soon(start)
        await trio.testing.wait_all_tasks_blocked()

    assert trio.current_time() == 2


async def test_an_actor_is_one_task() -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with open_supervisor() as supervisor:
        for number in range(50):
            await start_worker(supervisor, f"w{number}")
        assert trio.lowlevel.current_statistics().tasks_living == before + 50


async def test_ten_thousand_actors_live_and_die() -> None:
    async with open_supervisor() as supervisor:
        refs = [await start_worker(supervisor, f"w{number}") for number in range(10_000)]
        assert len(supervisor.statistics().children) == 10_000

    assert {await ref.wait_terminated() for ref in refs} == {Exit("stopped")}


# Leaving the block


async def test_leaving_asks_everybody_at_once_under_one_deadline(
    autojump_clock: trio.testing.MockClock,
) -> None:
    start = trio.current_time()
    async with open_supervisor() as supervisor:
        polite = await start_worker(supervisor)
        others = [
            await supervisor.start(ChildSpec(name=f"s{grace}", behavior=stubborn, grace=grace))
            for grace in (10, 30, 20)
        ]

    assert trio.current_time() - start == 30
    assert polite.status.get() == Exit("stopped")
    assert {ref.status.get() for ref in others} == {Exit("killed")}


async def test_leaving_with_an_exception_cancels_and_lets_it_through_bare(
    autojump_clock: trio.testing.MockClock,
) -> None:
    error = ValueError("mine")
    refs: list[ActorRef[object]] = []

    async def block() -> None:
        async with open_supervisor() as supervisor:
            refs.append(await supervisor.start(ChildSpec(name="s", behavior=stubborn)))
            raise error

    start = trio.current_time()
    with pytest.raises(ValueError, match="mine") as caught:
        await block()

    assert caught.value is error
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert trio.current_time() == start
    assert [ref.status.get() for ref in refs] == [Exit("killed")]


async def test_an_exception_group_of_the_body_is_not_wrapped_again() -> None:
    """Trio may copy a group on its way through a nursery, but not what is in it."""
    error = ExceptionGroup("mine", [ValueError("one"), ValueError("two")])
    with pytest.raises(ExceptionGroup, match="mine") as caught:
        async with open_supervisor():
            raise error

    assert caught.value.exceptions == error.exceptions


async def test_an_exception_of_the_body_is_bare_also_under_cancellation() -> None:
    error = ValueError("mine")

    async def block() -> None:
        async with open_supervisor() as supervisor:
            await supervisor.start(ChildSpec(name="s", behavior=stubborn))
            scope.cancel()
            raise error

    with trio.CancelScope() as scope, pytest.raises(ValueError, match="mine") as caught:
        await block()

    assert caught.value is error


async def test_cancelling_the_block_kills_and_passes_on() -> None:
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            ref = await start_worker(supervisor, restart=Restart.PERMANENT)
            scope.cancel()
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert ref.status.get() == Exit("killed")
    assert supervisor.statistics() == SupervisorStatistics(children=(), restarts=0, closing=True)


async def test_a_childs_grace_ends_before_its_parents(
    autojump_clock: trio.testing.MockClock,
) -> None:
    leaf: list[ActorRef[object]] = []
    died: list[float] = []

    async def parent(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        async with open_supervisor(mailbox.myself.path) as supervisor:
            leaf.append(await supervisor.start(ChildSpec(name="leaf", behavior=stubborn, grace=9)))
            task_status.started()
            async for _ in mailbox:
                pass
        died.append(trio.current_time())

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="parent", behavior=parent, grace=10))
        assert leaf[0].path == "/root/parent/leaf"
        report = await supervisor.stop(ref)
        assert report == CloseReport(exit=Exit("stopped"), seconds=9, grace_ran_out=False)

        ref = await supervisor.start(ChildSpec(name="parent", behavior=parent, grace=5))
        report = await supervisor.stop(ref)
        assert report == CloseReport(
            exit=Exit("stopped"), seconds=5 * HEADROOM, grace_ran_out=False
        )

    assert [ref.status.get() for ref in leaf] == [Exit("killed"), Exit("killed")]
    assert died == [9, 9 + 5 * HEADROOM]


# Stopping one child


async def test_stop_reports_a_polite_end() -> None:
    async with open_supervisor() as supervisor:
        ref = await start_worker(supervisor, restart=Restart.PERMANENT)
        with trio.testing.assert_checkpoints():
            report = await supervisor.stop(ref)
        with trio.testing.assert_checkpoints():
            again = await supervisor.stop(ref)

        assert report.exit == Exit("stopped")
        assert not report.grace_ran_out
        assert report.failures == ()
        assert again == CloseReport(exit=Exit("stopped"), seconds=0, grace_ran_out=False)
        assert supervisor.statistics().restarts == 0


async def test_stop_reports_that_the_grace_ran_out(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="s", behavior=stubborn, grace=30))
        reports: list[CloseReport] = []

        async def stop() -> None:
            reports.append(await supervisor.stop(ref))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop)
            await trio.sleep(10)
            nursery.start_soon(stop)

        assert trio.current_time() == 30
        assert reports == [CloseReport(exit=Exit("killed"), seconds=30, grace_ran_out=True)] * 2


async def test_cancelling_the_caller_of_stop_ends_the_waiting_not_the_stopping(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="s", behavior=stubborn, grace=30))
        with trio.move_on_after(1) as scope:
            await supervisor.stop(ref)
        assert scope.cancelled_caught
        assert ref.status.get() == "running"
        await ref.wait_terminated()
        assert trio.current_time() == 30


async def test_a_crash_while_stopping_is_in_the_report_and_hurts_no_sibling() -> None:
    error = OSError("torn")
    async with open_supervisor() as supervisor:
        sibling = await start_worker(supervisor)
        behavior = crashing_on_exit(error)
        ref = await supervisor.start(
            ChildSpec(name="c", behavior=behavior, restart=Restart.PERMANENT)
        )
        report = await supervisor.stop(ref)

        assert report.exit == Exit("crashed", error)
        assert report.failures == (error,)
        assert sibling.status.get() == "running"
        assert supervisor.statistics().restarts == 0


async def test_a_crash_while_everything_closes_is_in_the_exit() -> None:
    error = OSError("torn")
    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="c", behavior=crashing_on_exit(error)))
        sibling = await start_worker(supervisor)

    assert ref.status.get() == Exit("crashed", error)
    assert sibling.status.get() == Exit("stopped")


async def test_a_foreign_actor_cannot_be_stopped() -> None:
    async with open_supervisor() as mine, open_supervisor("other") as other:
        ref = await start_worker(mine)
        same_name = await start_worker(other)
        with pytest.raises(NotAChild, match="'/root/w' is no child of supervisor '/other'"):
            await other.stop(ref)
        assert same_name.status.get() == "running"


# Restarting


async def test_a_restart_keeps_the_address(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor() as supervisor:
        ref = await start_worker(supervisor)
        await ref.send(Crash())
        await ref.status.wait_value(lambda status: status == "restarting")
        assert await ref.status.wait_value(lambda status: status != "restarting") == "running"
        assert supervisor.statistics() == SupervisorStatistics(
            children=("w",), restarts=1, closing=False
        )
        assert repr(supervisor) == "<Supervisor /root of 1>"


async def test_restarts_wait_longer_each_time(autojump_clock: trio.testing.MockClock) -> None:
    started: list[float] = []

    async def frail(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        started.append(trio.current_time())
        raise BOOM

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="f", behavior=frail, on_limit="end"))
        assert await ref.wait_terminated() == Exit("crashed", BOOM)

    assert started == [0, 1, 3, 7]


async def test_a_quiet_window_begins_a_new_series(autojump_clock: trio.testing.MockClock) -> None:
    limit = RestartLimit(max_restarts=1, within=5)
    async with open_supervisor(limit=limit) as supervisor:
        ref = await start_worker(supervisor)
        for _ in range(5):
            await ref.send(Crash())
            await trio.sleep(6)
        assert supervisor.statistics().restarts == 5


async def test_progress_begins_a_new_series(autojump_clock: trio.testing.MockClock) -> None:
    limit = RestartLimit(max_restarts=1, within=1000)
    async with open_supervisor(limit=limit) as supervisor:
        ref = await start_worker(supervisor)
        for _ in range(5):
            await ref.send(Crash())
            await ref.send(Progress())
            await trio.sleep(2)
        assert supervisor.statistics().restarts == 5


async def test_a_failing_start_up_is_one_more_crash_of_a_restart(
    autojump_clock: trio.testing.MockClock,
) -> None:
    lives: list[float] = []

    async def fails_later(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        lives.append(trio.current_time())
        if len(lives) in {2, 3}:
            raise OSError("no such sandbox")
        task_status.started()
        async for _ in mailbox:
            raise BOOM

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="f", behavior=fails_later))
        await ref.send("crash")
        await ref.status.wait_value(lambda status: status == "restarting")
        assert await ref.status.wait_value(lambda status: status != "restarting") == "running"

    assert lives == [0, 1, 3, 7]


@pytest.mark.parametrize(
    ("restart", "restarts", "ending"),
    [
        (Restart.PERMANENT, 1, Exit("stopped")),
        (Restart.TRANSIENT, 0, Exit("finished")),
        (Restart.TEMPORARY, 0, Exit("finished")),
    ],
)
async def test_what_returns_is_restarted_only_if_it_is_permanent(
    restart: Restart, restarts: int, ending: Exit, autojump_clock: trio.testing.MockClock
) -> None:
    async def once(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async for _ in mailbox:
            break

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="o", behavior=once, restart=restart))
        await ref.send("return")
        await trio.sleep(1.5)
        assert supervisor.statistics().restarts == restarts

    assert ref.status.get() == ending


async def test_a_crash_that_nobody_restarts_is_in_the_exit_and_hurts_no_sibling() -> None:
    async with open_supervisor() as supervisor:
        ref = await start_worker(supervisor, "t", Restart.TEMPORARY)
        sibling = await start_worker(supervisor)
        await ref.send(Crash())

        assert await ref.wait_terminated() == Exit("crashed", BOOM)
        assert sibling.status.get() == "running"


@pytest.mark.parametrize("end", ["stop", "leave", "cancel", "raise"])
async def test_waiting_to_be_restarted_can_be_interrupted(
    end: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Whatever ends it, the crash that it was waiting after is in its exit."""
    start = trio.current_time()
    with trio.CancelScope() as scope:
        try:
            async with open_supervisor() as supervisor:
                ref = await start_worker(supervisor)
                await ref.send(Crash())
                await ref.status.wait_value(lambda status: status == "restarting")
                match end:
                    case "stop":
                        report = await supervisor.stop(ref)
                        assert report.exit == Exit("crashed", BOOM)
                        assert not report.grace_ran_out
                    case "cancel":
                        scope.cancel()
                        await trio.sleep_forever()
                    case "raise":
                        raise KeyError(end)
                    case _:
                        pass
        except KeyError:
            pass

    assert trio.current_time() == start
    assert ref.status.get() == Exit("crashed", BOOM)
    assert supervisor.statistics().restarts == 0


async def test_under_cancellation_nobody_is_restarted() -> None:
    error = OSError("torn")
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            ref = await supervisor.start(
                ChildSpec(name="c", behavior=crashing_on_exit(error), restart=Restart.PERMANENT)
            )
            scope.cancel()
            await trio.sleep_forever()

    assert ref.status.get() == Exit("crashed", error)
    assert supervisor.statistics().restarts == 0


# Past the limit


async def test_past_its_limit_a_child_takes_the_supervisor_with_it() -> None:
    refs: list[ActorRef[Crash | Progress]] = []
    with pytest.raises(RestartLimitExceeded, match="'/root/w' ended again") as caught:
        await escalate("w", refs)

    cause = caught.value.__cause__
    assert isinstance(cause, ExceptionGroup)
    assert cause.exceptions == (BOOM,)
    assert (caught.value.path, caught.value.restarts, caught.value.seconds) == ("/root/w", 0, 5)
    assert [ref.status.get() for ref in refs] == [Exit("crashed", BOOM), Exit("killed")]


async def test_a_child_that_may_end_does_so_alone() -> None:
    async with open_supervisor(limit=NO_RESTARTS) as supervisor:
        spec = ChildSpec(name="leaf", behavior=worker, on_limit="end")
        ref = await supervisor.start(spec)
        sibling = await start_worker(supervisor)
        await ref.send(Crash())

        assert await ref.wait_terminated() == Exit("crashed", BOOM)
        assert sibling.status.get() == "running"


async def test_a_permanent_child_that_keeps_returning_is_past_the_limit_as_well() -> None:
    async def brief(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()

    async def block() -> None:
        async with open_supervisor(limit=NO_RESTARTS) as supervisor:
            spec = ChildSpec(name="b", behavior=brief, restart=Restart.PERMANENT)
            refs.append(await supervisor.start(spec))
            await trio.sleep_forever()

    refs: list[ActorRef[object]] = []
    with pytest.raises(RestartLimitExceeded) as caught:
        await block()

    cause = caught.value.__cause__
    assert isinstance(cause, ExceptionGroup)
    assert [str(exc) for exc in cause.exceptions] == [str(caught.value)]
    assert [ref.status.get() for ref in refs] == [Exit("finished")]


async def test_one_error_leaves_when_the_body_fails_as_well() -> None:
    async def block() -> None:
        async with open_supervisor(limit=NO_RESTARTS) as supervisor:
            ref = await start_worker(supervisor)
            await ref.send(Crash())
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("mine")

    with pytest.raises(RestartLimitExceeded) as caught:
        await block()

    cause = caught.value.__cause__
    assert isinstance(cause, ExceptionGroup)
    assert {repr(exc) for exc in cause.exceptions} == {repr(BOOM), "ValueError('mine')"}


async def test_the_first_of_two_past_their_limit_escalates_and_the_other_keeps_its_crash() -> None:
    refs: list[ActorRef[Crash | Progress]] = []

    async def block() -> None:
        async with open_supervisor(limit=NO_RESTARTS) as supervisor:
            refs.extend([await start_worker(supervisor, name) for name in ("a", "b")])
            for ref in refs:
                ref.send_nowait(Crash())
            await trio.sleep_forever()

    with pytest.raises(RestartLimitExceeded) as caught:
        await block()

    assert isinstance(caught.value.__cause__, ExceptionGroup)
    assert caught.value.__cause__.exceptions == (BOOM,)
    assert [ref.status.get() for ref in refs] == [Exit("crashed", BOOM)] * 2


async def test_an_inner_supervisors_crash_is_the_crash_of_its_actor(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def parent(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        async with open_supervisor(mailbox.myself.path, limit=NO_RESTARTS) as supervisor:
            ref = await start_worker(supervisor)
            task_status.started()
            async for _ in mailbox:
                await ref.send(Crash())

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(
            ChildSpec(name="p", behavior=parent, restart=Restart.TEMPORARY)
        )
        await ref.send("crash")
        ending = await ref.wait_terminated()

        assert isinstance(ending.crash, RestartLimitExceeded)
        assert ending.crash.path == "/root/p/w"


async def interrupted(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    try:
        await mailbox.receive()
    finally:
        raise KeyboardInterrupt


async def test_a_keyboard_interrupt_is_never_caught() -> None:
    async def block() -> None:
        async with open_supervisor() as supervisor:
            spec = ChildSpec(name="i", behavior=interrupted, restart=Restart.PERMANENT)
            ref = await supervisor.start(spec)
            await ref.send("now")
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        await block()


async def test_a_keyboard_interrupt_is_not_hidden_by_a_crash() -> None:
    async def block() -> None:
        async with open_supervisor(limit=NO_RESTARTS) as supervisor:
            await supervisor.start(ChildSpec(name="i", behavior=interrupted))
            ref = await start_worker(supervisor)
            await ref.send(Crash())
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as caught:
        await block()

    assert {type(exc) for exc in caught.value.exceptions} == {KeyboardInterrupt, RuntimeError}


async def test_deadlines_of_an_unbounded_supervisor_stay_unbounded(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def in_a_week(mailbox: Mailbox[object], *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await trio.sleep(7 * 86400)

    async with open_supervisor() as supervisor:
        ref = await supervisor.start(ChildSpec(name="w", behavior=in_a_week, grace=math.inf))

    assert ref.status.get() == Exit("stopped")
