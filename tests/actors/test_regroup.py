"""Siblings that are restarted together. `plan` itself is tested in test_restart."""

from __future__ import annotations

import contextlib
from random import Random

import attrs
import pytest
import trio
import trio.testing

from codex_actors.actors import (
    ActorRef,
    ActorTerminated,
    ChildSpec,
    Exit,
    Mailbox,
    Restart,
    RestartLimit,
    RestartLimitExceeded,
    Strategy,
    Supervisor,
    open_supervisor,
)

Log = list[tuple[float, str, str]]


@attrs.define
class Family:
    """Children that log their lives and do what they are told."""

    supervisor: Supervisor
    log: Log = attrs.field(factory=list)
    failing: dict[str, int] = attrs.field(factory=dict)
    """How often a child's start-up still has to fail."""
    clean_up: float = 0
    """Seconds that a child takes to go."""

    async def start(self, name: str, restart: Restart = Restart.TRANSIENT) -> ActorRef[str]:
        async def behavior(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
            if self.failing.get(name):
                self.failing[name] -= 1
                raise OSError("cannot start")
            self.note(name, "up")
            task_status.started()
            try:
                async for message in mailbox:
                    self.note(name, message)
                    if message == "crash":
                        raise RuntimeError(name)
                    if message == "return":
                        break
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(self.clean_up)
                self.note(name, "down")

        return await self.supervisor.start(ChildSpec(name=name, behavior=behavior, restart=restart))

    def note(self, name: str, fact: str) -> None:
        self.log.append((trio.current_time(), name, fact))

    def ups(self) -> list[tuple[float, str]]:
        return [(time, name) for time, name, fact in self.log if fact == "up"]


@pytest.mark.parametrize(
    ("strategy", "restarted"),
    [
        (Strategy.ONE_FOR_ONE, ["b"]),
        (Strategy.REST_FOR_ONE, ["b", "c", "d"]),
        (Strategy.ONE_FOR_ALL, ["a", "b", "c", "d"]),
    ],
)
async def test_who_goes_down_and_up_again_in_the_order_of_age(
    strategy: Strategy, restarted: list[str], autojump_clock: trio.testing.MockClock
) -> None:
    async with open_supervisor(strategy=strategy) as supervisor:
        family = Family(supervisor)
        refs = {name: await family.start(name) for name in "abcd"}
        family.log.clear()
        await refs["b"].send("crash")
        await trio.sleep(0.5)
        down = {name for _, name, fact in family.log if fact == "down"}
        assert down == set(restarted)
        refs["c"].send_nowait("kept")
        await trio.sleep(5)

        assert family.ups() == [(1, name) for name in restarted]
        assert (1 if "c" in restarted else 0.5, "c", "kept") in family.log
        assert supervisor.statistics().restarts == len(restarted)


async def test_nobody_goes_up_before_everybody_is_down(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor, clean_up=3)
        refs = [await family.start(name) for name in "ab"]
        family.log.clear()
        await refs[1].send("crash")
        await trio.sleep(10)

        assert family.ups() == [(6, "a"), (6, "b")]
        family.clean_up = 0


async def test_a_temporary_sibling_goes_down_for_good(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        temporary = await family.start("t", Restart.TEMPORARY)
        other = await family.start("o")
        await other.send("crash")

        assert await temporary.wait_terminated() == Exit("killed")
        await trio.sleep(2)
        assert other.status.get() == "running"
        assert supervisor.statistics().children == ("o",)


async def test_siblings_do_not_pay_for_restarts_that_are_not_theirs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each crashes three times in a row, which is the limit of one, not of two."""
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        refs = [await family.start(name) for name in "ab"]
        for ref in refs:
            for delay in (1, 2, 4):
                await ref.send("crash")
                await trio.sleep(delay + 0.1)
        assert {ref.status.get() for ref in refs} == {"running"}
        assert supervisor.statistics().restarts == 12


async def test_an_older_sibling_that_crashes_meanwhile_joins_and_keeps_the_order(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.REST_FOR_ONE) as supervisor:
        family = Family(supervisor)
        refs = {name: await family.start(name) for name in "abc"}
        family.log.clear()
        await refs["b"].send("crash")
        await trio.sleep(0.5)
        await refs["a"].send("crash")
        await trio.sleep(5)

        assert family.ups() == [(1.5, "a"), (1.5, "b"), (1.5, "c")]


async def test_a_start_up_that_fails_on_the_way_up_brings_them_down_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        refs = {name: await family.start(name) for name in "abc"}
        family.log.clear()
        family.failing["b"] = 1
        await refs["c"].send("crash")
        await trio.sleep(5)

        assert family.ups() == [(1, "a"), (2, "a"), (2, "b"), (2, "c")]
        assert {ref.status.get() for ref in refs.values()} == {"running"}


async def test_one_that_is_still_starting_again_is_brought_down_as_well(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is cancelled in its start-up, and begins anew after the older one."""

    async def slow(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        begun.append(trio.current_time())
        await trio.sleep(3)
        task_status.started()
        async for _ in mailbox:
            pass

    begun: list[float] = []
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        older = await family.start("older")
        ref = await supervisor.start(ChildSpec(name="slow", behavior=slow))
        await older.send("crash")
        await trio.sleep(2)
        await older.send("crash")
        await trio.sleep(20)

        assert begun == [0, 4, 7]
        assert ref.status.get() == "running"


async def test_all_may_crash_at_once(autojump_clock: trio.testing.MockClock) -> None:
    for strategy in Strategy:
        async with open_supervisor(strategy=strategy) as supervisor:
            family = Family(supervisor)
            refs = [await family.start(name) for name in "abcd"]
            for ref in refs:
                ref.send_nowait("crash")
            await trio.sleep(3)

            assert {ref.status.get() for ref in refs} == {"running"}


async def test_a_crash_between_being_let_go_and_going_up_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The first one up crashes at once, when the next has been let go or is about to be."""

    async def frail(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        lives.append(trio.current_time())
        task_status.started()
        if len(lives) in {2, 3}:
            raise OSError("frail")
        async for _ in mailbox:
            raise OSError("told to")

    lives: list[float] = []
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        ref = await supervisor.start(ChildSpec(name="frail", behavior=frail))
        others = [await family.start(name) for name in "abc"]
        await ref.send("crash")
        await trio.sleep(20)

        assert lives == [0, 1, 3, 7]
        assert {other.status.get() for other in others} == {"running"}


async def test_one_that_is_done_at_that_moment_stays_done(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor, clean_up=0.1)
        one, two = await family.start("one"), await family.start("two")
        await one.send("return")
        await trio.testing.wait_all_tasks_blocked()
        await two.send("crash")

        with trio.fail_after(100):
            assert await one.wait_terminated() == Exit("finished")
        await trio.sleep(2)
        assert two.status.get() == "running"


async def test_stopping_one_that_is_down_leaves_the_others_to_go_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        refs = [await family.start(name) for name in "abc"]
        await refs[0].send("crash")
        await trio.sleep(0.5)
        report = await supervisor.stop(refs[1])
        assert report.exit == Exit("killed")
        await trio.sleep(2)

        assert [refs[0].status.get(), refs[2].status.get()] == ["running", "running"]


async def test_stopping_one_just_as_it_goes_up_does_not_hang_the_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    for offset in (0.0, 1e-9):
        async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
            family = Family(supervisor)
            refs = [await family.start(name) for name in "abc"]
            await refs[2].send("crash")
            await trio.sleep(1 + offset)
            await supervisor.stop(refs[0])
            await trio.sleep(2)

            assert [ref.status.get() for ref in refs[1:]] == ["running", "running"]


async def test_a_child_in_its_start_up_is_nobodys_sibling_yet(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(mailbox: Mailbox[str], *, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep(10)
        task_status.started()
        async for _ in mailbox:
            pass

    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        ref = await family.start("a")
        await ref.send("crash")
        slow_ref = await supervisor.start(ChildSpec(name="slow", behavior=slow))

        assert trio.current_time() == 10
        assert slow_ref.status.get() == "running"


async def test_leaving_while_they_are_down_ends_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
        family = Family(supervisor)
        refs = [await family.start(name) for name in "ab"]
        await refs[0].send("crash")
        await trio.sleep(0.5)

    assert trio.current_time() == 0.5
    ending = refs[0].status.get()
    assert isinstance(ending, Exit)
    assert repr(ending.crash) == "RuntimeError('a')"
    assert refs[1].status.get() == Exit("killed")


async def test_past_the_limit_they_escalate_like_anybody(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def block() -> None:
        async with open_supervisor(strategy=Strategy.ONE_FOR_ALL) as supervisor:
            family = Family(supervisor)
            refs = [await family.start(name) for name in "ab"]
            family.failing["b"] = 4
            await refs[0].send("crash")
            await trio.sleep_forever()

    with pytest.raises(RestartLimitExceeded, match="'/root/b' ended again after 3 restarts"):
        await block()

    assert trio.current_time() == 1 + 1 + 2 + 4


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_all_that_should_run_do_and_all_end(
    strategy: Strategy, seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Crashes, failing start-ups, slow ends, stops and starts, in any order and at any time."""
    random = Random(seed)
    limit = RestartLimit(max_restarts=50)
    with trio.fail_after(1_000_000):
        async with open_supervisor(strategy=strategy, limit=limit) as supervisor:
            family = Family(supervisor)
            refs = {name: await family.start(name) for name in "abcdef"}
            for _ in range(40):
                name = random.choice("abcdef")
                family.clean_up = random.choice([0, 0, 0.5, 2])
                match random.choice(["crash", "crash", "fail", "stop", "wait", "tick"]):
                    case "crash":
                        with trio.move_on_after(0.1), contextlib.suppress(ActorTerminated):
                            await refs[name].send("crash")
                    case "fail":
                        family.failing[name] = random.randrange(3)
                    case "stop":
                        with trio.move_on_after(random.choice([0.1, 9])):
                            await supervisor.stop(refs[name])
                    case "wait":
                        await trio.sleep(random.choice([0.5, 1, 1, 2]))
                    case _:
                        await trio.lowlevel.checkpoint()
                if isinstance(refs[name].status.get(), Exit):
                    family.failing.clear()
                    refs[name] = await family.start(name)
            family.failing.clear()
            await trio.sleep(10_000)
            alive = set(supervisor.statistics().children)

            assert {refs[name].status.get() for name in alive} <= {"running"}
            assert all(isinstance(refs[n].status.get(), Exit) for n in set(refs) - alive)

    assert all(isinstance(ref.status.get(), Exit) for ref in refs.values())
