from __future__ import annotations

import os
import signal
import stat
import tracemalloc
from pathlib import Path

import pytest
import trio
import trio.testing

from codex_actors.sandbox import (
    CouldNotStart,
    NoTerminal,
    ProcessesClosed,
    ProcessesCrashed,
    StartFault,
    open_processes,
)
from tests.sandbox.support import (
    FOREVER,
    Counter,
    Output,
    Workshop,
    descriptors,
    run,
    wait_text,
    wait_until,
    zombie_children,
)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo out; echo err >&2; echo out again", (0, "out\nerr\nout again\n")),
        ("exit 7", (7, "")),
        ("kill -TERM $$", (-signal.SIGTERM, "")),
        ("cat; echo its input is empty", (0, "its input is empty\n")),
        ("echo $TEST_ONLY; pwd", (0, "\n/\n")),
        ("exec >&- 2>&-; exit 3", (3, "")),
    ],
)
async def test_it_runs(workshop: Workshop, script: str, expected: tuple[int, str]) -> None:
    async with open_processes() as processes:
        assert expected == await run(processes, workshop.shell(script))


async def test_nothing_is_inherited(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOT_FOR_CHILDREN", "1")

    async with open_processes() as processes:
        _, text = await run(processes, workshop.command("env"))

    names = {line.partition("=")[0] for line in text.splitlines()}
    assert {"PATH", "TEST_TOKEN", "CODEX_ACTORS_SCOPE"} == names


async def test_many_at_once(workshop: Workshop) -> None:
    results: list[tuple[int, str]] = []

    async def one(number: int) -> None:
        results.append(await run(processes, workshop.shell(f"echo {number}; exit {number}")))

    async with open_processes() as processes:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(one, number)

        assert processes.running() == ()

    assert [(number, f"{number}\n") for number in range(20)] == sorted(results)


async def test_much_output_does_not_stall_or_pile_up(workshop: Workshop) -> None:
    size = 100_000_000
    counter = Counter()
    tracemalloc.start()
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(f"head -c {size} /dev/zero; echo"), counter)
        with trio.fail_after(60):
            await process.wait()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size + 1 == counter.total == process.received()
    assert peak < 2_000_000


async def test_output_is_waited_for_by_its_position(workshop: Workshop) -> None:
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(
            workshop.shell("echo one; while :; do sleep 0.01; done"), output
        )
        assert await process.wait_output(after=0) == 4
        assert await process.wait_output(after=3) == 4
        with trio.testing.assert_checkpoints():
            await process.wait_output(after=0)
        assert process.exit_code() is None

        await process.kill()

        assert await process.wait_output(after=4) == 4
        assert -signal.SIGKILL == process.exit_code() == await process.wait()
    assert output.text() == "one\n"


async def test_a_grandchild_with_the_pipe_does_not_hold_up_the_exit(workshop: Workshop) -> None:
    async with open_processes() as processes:
        with trio.fail_after(10):
            result = await run(processes, workshop.shell(f"echo done; sleep {FOREVER} &"))
        survivors = await workshop.wait_alive(1)

        assert result == (0, "done\n")
        assert len(survivors) == 1


async def test_output_after_the_exit_has_a_moment_to_arrive(workshop: Workshop) -> None:
    script = "(while kill -0 $$; do :; done 2>/dev/null; echo late) & echo early"
    async with open_processes() as processes:
        assert await run(processes, workshop.shell(script)) == (0, "early\nlate\n")


async def test_interrupt_reaches_the_whole_group(workshop: Workshop) -> None:
    script = f"""trap 'echo caught; exit 5' INT; echo ready; sleep {FOREVER}; echo no"""
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(script), output)
        await wait_text(process, output, "ready")
        await workshop.wait_program("sleep")

        process.interrupt()

        assert await process.wait() == 5
        assert output.text() == "ready\ncaught\n"
        process.interrupt()


async def test_without_a_terminal_nothing_can_be_written(workshop: Workshop) -> None:
    async with open_processes() as processes:
        process = await processes.start(workshop.shell("exec sleep 1000"), Output())
        with pytest.raises(NoTerminal, match="start it with tty=True"):
            await process.write(b"hello")


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A directory of programs that are none."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "noise").write_bytes(b"\x00\x01noise")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    for name in ("noise", "lost"):
        (tmp_path / name).chmod(stat.S_IRWXU)
    return tmp_path


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize(
    ("argv", "cwd", "fault"),
    [
        (("no-such-program",), ".", "missing program"),
        (("/no/such/program",), ".", "missing program"),
        (("./plain",), ".", "not permitted"),
        (("/",), ".", "not permitted"),
        (("echo",), "missing", "missing directory"),
        (("echo",), "plain", "missing directory"),
        (("./plain",), "missing", "missing directory"),
        (("echo", "a\0b"), ".", "unspeakable arguments"),
        (("echo", "x" * 10_000_000), ".", "too large"),
    ],
)
async def test_what_cannot_start_says_why(
    workshop: Workshop, shelf: Path, argv: tuple[str, ...], cwd: str, fault: StartFault, tty: bool
) -> None:
    spec = workshop.command(*argv, cwd=str(shelf / cwd), tty=tty)
    before = descriptors()
    async with open_processes() as processes:
        with pytest.raises(CouldNotStart) as caught:
            await processes.start(spec, Output())

        assert processes.running() == ()

    error = caught.value
    assert (argv[0], str(shelf / cwd), fault) == (error.program, error.cwd, error.fault)
    assert "\n" not in str(error)
    assert before == descriptors()


@pytest.mark.parametrize(
    ("name", "fault"), [("noise", "not a program"), ("lost", "missing program")]
)
async def test_what_is_no_program_says_so(
    workshop: Workshop, shelf: Path, name: str, fault: StartFault
) -> None:
    async with open_processes() as processes:
        with pytest.raises(CouldNotStart) as caught:
            await processes.start(workshop.command(str(shelf / name)), Output())

    assert fault == caught.value.fault


async def test_nothing_is_left_open(workshop: Workshop) -> None:
    async def use(*, tty: bool) -> None:
        async with open_processes() as processes:
            for script in ("true", "sleep 1000 &", "exec sleep 1000"):
                process = await processes.start(workshop.shell(script, tty=tty), Output())
                if script != "exec sleep 1000":
                    await process.wait()

    await use(tty=False)
    before = descriptors()
    for tty in (False, True):
        await use(tty=tty)

    assert before == descriptors()


async def test_a_closed_scope_starts_nothing(workshop: Workshop) -> None:
    async with open_processes() as processes:
        pass
    with pytest.raises(ProcessesClosed, match="its agent is closing"):
        await processes.start(workshop.command("true"), Output())


async def test_start_is_not_cut_in_two_by_a_cancellation(workshop: Workshop) -> None:
    async with open_processes() as processes:
        with trio.CancelScope() as scope:
            scope.cancel()
            await processes.start(workshop.command("sleep", "1000"), Output())

        assert scope.cancelled_caught
        assert processes.running() == ()


async def test_the_body_raises_bare() -> None:
    error = LookupError("mine")
    with pytest.raises(LookupError) as caught:
        async with open_processes():
            raise error

    assert error is caught.value


async def test_a_sink_that_raises_kills_the_scope(workshop: Workshop) -> None:
    class Broken:
        def append(self, data: bytes, /) -> None:
            raise LookupError(data)

    async def use() -> None:
        async with open_processes() as processes:
            await processes.start(workshop.command("sleep", "1000"), Output())
            await processes.start(workshop.shell("echo hi; exec sleep 1000"), Broken())
            await trio.sleep_forever()

    with pytest.raises(ProcessesCrashed) as caught:
        await use()

    assert isinstance(caught.value.__cause__, ExceptionGroup)
    assert None is caught.value.__cause__.split(LookupError)[1]


async def test_a_tool_of_ten_minutes_is_over_at_once_under_a_jumping_clock(
    workshop: Workshop, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_processes() as processes:
        process = await processes.start(workshop.command("sleep", "1000"), Output())
        with trio.move_on_after(600) as scope:
            await process.wait()
        assert scope.cancelled_caught

        assert await process.kill() == ()
        assert process.exit_code() == -signal.SIGKILL


async def test_dead_orphans_are_buried_while_the_scope_lives(
    workshop: Workshop, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with open_processes() as processes:
        await run(processes, workshop.shell(f"setsid cat {fifo} >/dev/null 2>&1 &"))
        (orphan,) = await workshop.wait_alive(1)
        await wait_until(lambda: processes.statistics().members == 1)
        await trio.to_thread.run_sync(fifo.write_bytes, b"")
        await wait_until(lambda: not workshop.alive() and orphan in zombie_children())

        await run(processes, workshop.shell("true"))

        await wait_until(lambda: orphan not in zombie_children())
