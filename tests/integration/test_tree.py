"""`codex-actors tree` as a person runs it: after a run, while one runs, and on a terminal."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from pathlib import Path

import trio

from tests.integration.support import FULL, Place, finish, open_server, poll

SLOW = [
    [{"call": "exec_command", "args": {"cmd": "exec sleep 1000", "yield_time_ms": 30000}}],
]
TASK = "count to three, " * 30


async def test_what_was_done_is_shown(tmp_path: Path) -> None:
    async with open_server([[{"say": "three"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        done = await place.run("exec", "--json", *FULL, TASK)
    thread = done.events[0]["thread_id"]
    last = await place.run("tree", "--last")
    named = await place.run("tree", thread, "--json")
    ascii_only = await place.run("tree", thread, env={"PYTHONIOENCODING": "ascii"})

    assert (0, "") == (last.status, last.stderr)
    title, root, _, summary = last.stdout.splitlines()
    assert ["agent", "status", "tokens", "time", "task"] == title.split()
    assert re.fullmatch(rf"/root  completed +\S+ +\S+ s  {TASK.strip()}", root)
    assert summary.startswith("1 agent; ")
    assert "three" == named.events[0]["status"]["completed"]
    assert {"type": "completed", "message": "three"} == named.events[0]["outcome"]
    assert (thread, "/root", TASK) == tuple(
        named.events[0][key] for key in ("thread_id", "path", "task")
    )
    assert ascii_only.stdout == last.stdout


async def test_a_thread_that_is_not_there(tmp_path: Path) -> None:
    ended = await Place.below(tmp_path).run("tree", "zz")

    assert (1, "") == (ended.status, ended.stdout)
    assert ended.stderr.startswith("error: no thread 'zz' in ")


async def test_a_run_that_goes_on_and_is_killed(tmp_path: Path) -> None:
    async with open_server(SLOW) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", *FULL, "--json", "sleep")
        try:
            await poll(lambda: any("turn_context" in p.read_text() for p in place.rollouts()))
            during = await place.run("tree", "--last")
            process.terminate()
            await finish(process)
        finally:
            process.kill()
            process.wait()
        after = await place.run("tree", "--last")

    assert "/root  running " in during.stdout
    assert f"process {process.pid} is working on it now" == during.stdout.splitlines()[-1]
    assert "/root  interrupted " in after.stdout
    assert "working on it" not in after.stdout


async def test_a_terminal_has_colors_and_a_width(tmp_path: Path) -> None:
    async with open_server([[{"say": "three"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        await place.run("exec", *FULL, TASK)
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    # Emptied rather than unset: the program gets this process's environment as well.
    environment = {"TERM": "xterm-256color", "COLUMNS": ""}
    process = place.start("tree", "--last", stdout=slave, env=environment)
    os.close(slave)
    await finish(process)
    shown = (await trio.to_thread.run_sync(os.read, master, 1 << 16)).decode()
    os.close(master)

    lines = shown.splitlines()
    assert 0 == process.returncode
    assert lines[0].startswith("\x1b[2magent")
    assert "\x1b[32m  completed" in lines[1]
    plain = re.sub(r"\x1b\[\d*m", "", lines[1])
    assert (60, "…") == (len(plain), plain[-1])
