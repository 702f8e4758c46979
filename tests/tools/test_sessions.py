"""The limit of an agent's commands, with processes that only pretend."""

from __future__ import annotations

from pathlib import Path
from typing import final

import attrs
import pytest
import trio

from codex_actors.protocol import WarningRaised
from codex_actors.sandbox import (
    CouldNotStart,
    OutputSink,
    ProcessSpec,
    ProcessSurvived,
    Survivor,
)
from codex_actors.tools import TooManyCommands, open_exec_sessions
from tests.tools.support import World, make_settings, open_world


@final
@attrs.define(eq=False)
class FakeProcess:
    """Runs until it is told to end; cannot be killed if it is ``stubborn``."""

    output: OutputSink
    stubborn: bool = False
    ended: trio.Event = attrs.field(factory=trio.Event)
    code: int | None = None

    def exit_code(self) -> int | None:
        return self.code

    def exit(self, code: int) -> None:
        self.code = code
        self.ended.set()

    async def wait(self) -> int:
        await self.ended.wait()
        if self.code is None:
            raise ProcessSurvived(1)
        return self.code

    async def write(self, data: bytes, /) -> None:
        raise AssertionError(data)

    def interrupt(self) -> None:
        raise AssertionError

    async def kill(self) -> tuple[Survivor, ...]:
        await trio.lowlevel.checkpoint()
        if not self.stubborn:
            self.exit(-9)
        return ()


@final
@attrs.define(eq=False)
class FakeStarter:
    """Starts fakes, which print ``first`` before the start has returned."""

    first: bytes = b""
    stubborn: bool = False
    started: list[FakeProcess] = attrs.field(factory=list)

    async def start(self, spec: ProcessSpec, output: OutputSink, /) -> FakeProcess:
        process = FakeProcess(output, self.stubborn)
        if self.first:
            output.append(self.first)
        await trio.lowlevel.checkpoint()
        self.started.append(process)
        return process


async def start_many(world: World, count: int) -> None:
    for _ in range(count):
        await world.call("exec_command", cmd="x", yield_time_ms=250)


def warnings(world: World) -> list[str]:
    return [event.message for event in world.events if isinstance(event, WarningRaised)]


async def test_the_command_not_used_for_longest_makes_room(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    starter = FakeStarter()
    async with open_world(tmp_path, processes=starter) as world:
        await start_many(world, 64)
        assert world.sessions.get(1000) is not None  # counts as a use
        await start_many(world, 1)
        await trio.testing.wait_all_tasks_blocked()

        assert -9 == starter.started[1].exit_code()
        assert 64 == len(world.sessions.running())
        assert world.sessions.get(1001) is None
        assert ["session 1001 ('/bin/bash -lc x') was ended"] == [
            message.partition(":")[0] for message in warnings(world) if "was ended" in message
        ]


async def test_one_that_has_exited_goes_first(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    starter = FakeStarter()
    async with open_world(tmp_path, processes=starter) as world:
        await start_many(world, 64)
        starter.started[30].exit(0)
        await trio.testing.wait_all_tasks_blocked()
        await start_many(world, 1)

        assert world.sessions.get(1030) is None
        assert world.sessions.get(1000) is not None
        assert [] == [message for message in warnings(world) if "was ended" in message]


async def test_people_are_warned_before_it_is_too_late(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(tmp_path, processes=FakeStarter()) as world:
        await start_many(world, 59)
        before = warnings(world)
        await start_many(world, 1)

        assert ([], ["60 of at most 64 commands are running"]) == (
            before,
            [message.partition(";")[0] for message in warnings(world)],
        )


async def keep_the_clock() -> None:
    """Let no time pass: a jumping clock would not wait for what looks at the disk."""
    while True:
        await trio.lowlevel.checkpoint()


async def test_commands_that_are_waited_for_stay(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(tmp_path, processes=FakeStarter()) as world:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_the_clock)
            for _ in range(64):
                nursery.start_soon(lambda: world.call("exec_command", cmd="x"))
            while sum(session.busy for session in world.sessions.running()) < 64:
                await trio.lowlevel.checkpoint()
            output = await world.call("exec_command", cmd="x")
            nursery.cancel_scope.cancel()

        assert f"exec_command failed: {TooManyCommands()}" == output.text


async def test_an_id_is_never_given_twice(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(tmp_path, processes=FakeStarter()) as world:
        ids = iter([7, 7, 7, 8])
        world.sessions._new_session_id = lambda: next(ids)
        await start_many(world, 2)

        assert [7, 8] == [session.id for session in world.sessions.running()]


async def test_output_that_comes_early_is_announced_after_the_start(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(tmp_path, processes=FakeStarter(first=b"early\n")) as world:
        await start_many(world, 1)

        assert ["ItemStarted", "CommandOutput"] == [type(e).__name__ for e in world.events]


async def test_what_cannot_be_killed_is_said_to_have_failed(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(tmp_path, processes=FakeStarter(stubborn=True)) as world:
        await start_many(world, 1)

    assert [("failed", None)] == [(i.status, i.exit_code) for i in world.commands()]


async def test_a_process_that_survives_its_scope_fails(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    starter = FakeStarter()
    async with open_world(tmp_path, processes=starter) as world:
        await start_many(world, 1)
        starter.started[0].ended.set()
        output = await world.call("write_stdin", session_id=1000)

    assert "Process could not be ended" in output.text


async def test_a_start_that_fails_leaves_no_session(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    @final
    class Broken:
        async def start(self, spec: ProcessSpec, output: OutputSink, /) -> FakeProcess:
            await trio.lowlevel.checkpoint()
            raise CouldNotStart(program="x", cwd="/", fault="no resources")

    async with open_world(tmp_path, processes=Broken()) as world:
        await start_many(world, 100)

        assert ((), []) == (world.sessions.running(), world.events)


async def test_a_body_that_fails_while_it_is_cancelled_says_why(tmp_path: Path) -> None:
    """The watchers' cancellations are not put beside what went wrong."""
    with pytest.raises(KeyError), trio.CancelScope() as scope:
        async with open_exec_sessions(FakeStarter()) as sessions:
            await World(make_settings(tmp_path), sessions).call(
                "exec_command", cmd="x", yield_time_ms=250
            )
            scope.cancel()
            try:
                await trio.sleep_forever()
            finally:
                raise KeyError("mine")
