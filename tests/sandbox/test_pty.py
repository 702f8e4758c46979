from __future__ import annotations

import signal

import pytest
import trio

from codex_actors.sandbox import ProcessEnded, open_processes
from tests.sandbox.support import FOREVER, Output, Workshop, run, wait_text


async def test_it_is_a_terminal_of_the_size_that_was_asked_for(workshop: Workshop) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty; exit 3"
    async with open_processes() as processes:
        assert await run(processes, workshop.shell(script, tty=True)) == (3, "24 80\r\n")


async def test_what_is_typed_is_echoed_and_read(workshop: Workshop) -> None:
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(
            workshop.shell('read name; echo "hello $name"', tty=True), output
        )
        await process.write(b"world\n")

        assert await process.wait() == 0
        assert output.text() == "world\r\nhello world\r\n"


async def test_typing_to_the_dead(workshop: Workshop) -> None:
    async with open_processes() as processes:
        process = await processes.start(workshop.shell("true", tty=True), Output())
        await process.wait()

        with pytest.raises(ProcessEnded, match="start it again"):
            await process.write(b"hello")
        process.interrupt()
        process.resize(rows=1, columns=1)


async def test_resizing_tells_the_program(workshop: Workshop) -> None:
    script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(script, tty=True), output)
        await wait_text(process, output, "ready")

        process.resize(rows=33, columns=99)

        await process.wait()
        assert output.text() == "ready\r\n33 99\r\n"


@pytest.mark.parametrize("how", ["typed", "sent"])
async def test_interrupting(workshop: Workshop, how: str) -> None:
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(
            workshop.shell(f"echo ready; exec sleep {FOREVER}", tty=True), output
        )
        await wait_text(process, output, "ready")
        await workshop.wait_program("sleep")
        if how == "typed":
            await process.write(b"\x03")
        else:
            process.interrupt()

        assert await process.wait() == -signal.SIGINT


async def test_a_background_child_does_not_hold_up_the_exit(workshop: Workshop) -> None:
    async with open_processes() as processes:
        with trio.fail_after(10):
            spec = workshop.shell(f"trap '' HUP; sleep {FOREVER} & echo done", tty=True)
            assert await run(processes, spec) == (0, "done\r\n")
        await workshop.wait_alive(1)


async def test_the_path_of_the_environment_is_searched(workshop: Workshop) -> None:
    async with open_processes() as processes:
        spec = workshop.command("echo", "two words", "$HOME", tty=True)
        assert await run(processes, spec) == (0, "two words $HOME\r\n")
