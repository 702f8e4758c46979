"""Whatever a command does to get away, it does not."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio

from codex_actors.sandbox import Processes, adopt_orphans, open_processes
from tests.sandbox.support import (
    FOREVER,
    Output,
    Workshop,
    run,
    wait_text,
    wait_until,
    zombie_children,
)

DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        {last}
        time.sleep(1000)
    os._exit(0)
os.wait()
{first}
"""
"""The classic double fork: a grandchild in another session, whose parent is gone."""

CLEARED = "os.execve(sys.executable, [sys.executable, '-c', 'import time; time.sleep(1000)', sys.argv[1]], {})"
"""Get rid of every marker."""

STORM = """
import os, time
for level in range(4):
    os.fork()
for _ in range(6):
    if os.fork() == 0:
        break
print(end="", flush=True)
time.sleep(1000)
"""

EVADERS = {
    "sleep": (f"sleep {FOREVER}", 2),
    "background": (f"sleep {FOREVER} & sleep {FOREVER} & wait", 3),
    "orphan": (f"sleep {FOREVER} & exit 0", 1),
    "orphan in its session": (f"setsid sleep {FOREVER} >/dev/null 2>&1 & exit 0", 1),
    "daemon of a shell": (f"setsid sh -c 'sleep {FOREVER} & exit 0' & wait; exit 0", 1),
    "deaf": (f"trap '' TERM HUP INT QUIT; sleep {FOREVER}; sleep {FOREVER}", 2),
    "stopped": (f"sleep {FOREVER} & kill -STOP $!; kill -STOP $$", 2),
    "nested sessions": (
        f"setsid setsid sh -c 'setsid sleep {FOREVER} & sleep {FOREVER}; exit' & wait",
        3,
    ),
}


async def start_all(processes: Processes, workshop: Workshop) -> None:
    for script, _ in EVADERS.values():
        await processes.start(workshop.shell(script), Output())
    await processes.start(workshop.python(DAEMON.format(first="", last="")), Output())


@pytest.mark.parametrize("name", sorted(EVADERS))
async def test_leaving_the_scope_kills(workshop: Workshop, name: str) -> None:
    script, count = EVADERS[name]
    async with open_processes() as processes:
        await processes.start(workshop.shell(script), Output())
        await workshop.wait_alive(count)

    assert set() == workshop.alive()
    assert processes.survivors() == ()


@pytest.mark.parametrize("name", sorted(EVADERS))
async def test_killing_the_process_kills(workshop: Workshop, name: str) -> None:
    script, count = EVADERS[name]
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(script), Output())
        await workshop.wait_alive(count)

        assert await process.kill() == ()

        assert set() == workshop.alive()
        assert await process.wait() in (0, -signal.SIGKILL)
        assert await process.kill() == ()


async def test_cancelling_the_scope_kills_everything(workshop: Workshop) -> None:
    before = zombie_children()
    with trio.CancelScope() as scope:
        async with open_processes() as processes:
            await start_all(processes, workshop)
            scope.cancel()
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert set() == workshop.alive()
    assert before == zombie_children()


async def test_a_crash_kills_everything(workshop: Workshop) -> None:
    async def crash() -> None:
        async with open_processes() as processes:
            await start_all(processes, workshop)
            raise LookupError

    with pytest.raises(LookupError):
        await crash()

    assert set() == workshop.alive()


@pytest.mark.parametrize("first", ["", "time.sleep(1000)"])
async def test_a_daemon(workshop: Workshop, first: str) -> None:
    async with open_processes() as processes:
        await processes.start(workshop.python(DAEMON.format(first=first, last="")), Output())
        await workshop.wait_alive(2 if first else 1)

    assert set() == workshop.alive()


async def test_a_storm_of_forks(workshop: Workshop) -> None:
    """Killed while it grows, from one process to a hundred or so."""
    async with open_processes() as processes:
        await processes.start(workshop.python(STORM), Output())
        await wait_until(lambda: len(workshop.alive()) >= 30)

    assert set() == workshop.alive()


async def test_a_child_without_marker_is_found_below_its_parent(workshop: Workshop) -> None:
    script = f"env -i setsid sh -c 'sleep {FOREVER}; : {workshop.token}' & wait"
    async with open_processes() as processes:
        await processes.start(workshop.shell(script), Output())
        await workshop.wait_alive(2)

    assert set() == workshop.alive()


async def test_a_daemon_without_marker_is_known_if_it_was_seen(workshop: Workshop) -> None:
    script = f"env -i setsid sh -c 'sleep {FOREVER}; : {workshop.token}' & read line; exit 0"
    async with open_processes() as processes:
        process = await processes.start(workshop.shell(script, tty=True), Output())
        await wait_until(lambda: processes.statistics().members == 3)
        await process.write(b"\n")
        await process.wait()
        await workshop.wait_alive(1)

    assert set() == workshop.alive()


async def test_a_daemon_that_nobody_knows_dies_with_the_program(workshop: Workshop) -> None:
    async with adopt_orphans() as orphans:
        async with open_processes() as processes:
            await run(processes, workshop.python(DAEMON.format(first="", last=CLEARED)))
            await workshop.wait_alive(1)
        assert len(workshop.alive()) == 1

    assert set() == workshop.alive()
    assert orphans.survivors() == ()


async def test_other_children_of_the_program_live_on(workshop: Workshop) -> None:
    spec = workshop.command("sleep", "1000")
    other = await trio.lowlevel.open_process(spec.argv, env=spec.env, start_new_session=True)
    same = await trio.lowlevel.open_process(spec.argv, env=spec.env)
    try:
        async with adopt_orphans(), open_processes() as processes:
            await start_all(processes, workshop)

        assert {other.pid, same.pid} == workshop.alive()
    finally:
        for process in (other, same):
            process.kill()
            await process.wait()


async def test_scopes_do_not_touch_each_other(workshop: Workshop) -> None:
    neighbour = Workshop()
    async with open_processes() as mine:
        async with open_processes() as other:
            await start_all(other, neighbour)
            await start_all(mine, workshop)
            await wait_until(lambda: len(workshop.alive()) >= len(EVADERS))
        survivors = workshop.alive()

        assert set() == neighbour.alive()
        assert len(survivors) >= len(EVADERS)

    assert set() == workshop.alive()


async def test_processes_of_one_scope_do_not_touch_each_other(workshop: Workshop) -> None:
    script = f"setsid sleep {FOREVER} & wait"
    async with open_processes() as processes:
        started = [await processes.start(workshop.shell(script), Output()) for _ in range(11)]
        everyone = await workshop.wait_alive(22)
        await started[0].kill()

        assert len(workshop.alive() & everyone) == 20
        assert [process.pid for process in started[1:]] == [
            process.pid for process in processes.running()
        ]


async def test_a_scope_inside_a_killed_program_is_found_by_the_outer_one(
    workshop: Workshop,
) -> None:
    """The inner program dies first; what it owned comes to us with two marks."""
    script = f"""
import os, sys, trio
sys.path[:0] = {[str(Path(__file__).parents[2])]!r}
from codex_actors.sandbox import ProcessSpec, open_processes
from tests.sandbox.support import Output
async def main():
    async with open_processes() as processes:
        spec = ProcessSpec(argv=("setsid", "sleep", "1000"), cwd="/", env=dict(os.environ))
        await processes.start(spec, Output())
        print("ready", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""
    output = Output()
    async with open_processes() as processes:
        process = await processes.start(workshop.python(script), output)
        await wait_text(process, output, "ready")
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert len(workshop.alive()) == 1

    assert set() == workshop.alive()
