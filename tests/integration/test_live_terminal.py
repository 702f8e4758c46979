"""The live view on real terminals: what people see, and what is left when it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from examples.demo import demo
from tests.integration.support import FULL, INTERRUPT, ROOT, TERMINATE, Place, open_server, poll
from tests.integration.terminals import TERMINAL, Reader, Tmux

SLOW = [
    [{"call": "exec_command", "args": {"cmd": "echo began; exec sleep 1000", "yield_time_ms": 30000}}],
]  # fmt: skip


def test_programs_without_a_terminal_do_not_load_the_view() -> None:
    code = "import sys, codex_actors.cli; sys.exit('rich' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode


# --- a terminal that is read by the test ---


@asynccontextmanager
async def run_on_terminal(
    place: Place, *arguments: str, env: dict[str, str] | None = None
) -> AsyncGenerator[tuple[subprocess.Popen[bytes], Reader], None]:
    master, slave = os.openpty()
    environment = {"NO_COLOR": None} | TERMINAL | (env or {})
    given = {name: value for name, value in environment.items() if value is not None}
    process = place.start("exec", *FULL, *arguments, stderr=slave, env=given)
    os.close(slave)
    reader = Reader(master)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.read)
            yield process, reader
            assert process.stdout is not None
            process.stdout.close()
    finally:
        os.close(master)


@pytest.fixture(autouse=True)
def colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("signals", "status"), [([INTERRUPT], 1), ([TERMINATE], 143), ([INTERRUPT, INTERRUPT], 130)]
)
async def test_signals_leave_the_terminal_as_it_was(
    tmp_path: Path, signals: Sequence[int], status: int
) -> None:
    async with open_server(SLOW) as server:
        place = Place.below(tmp_path, server.base_url)
        async with run_on_terminal(place, "go") as (process, reader):
            await poll(lambda: "began" in reader.told)
            for number in signals:
                process.send_signal(number)
            await poll(lambda: process.poll() is not None)

    assert process.returncode == status or (len(signals) == 2 and process.returncode == 1)
    assert is_clean(reader.told)


async def test_even_a_kill_leaves_the_cursor_shown(tmp_path: Path) -> None:
    async with open_server(SLOW) as server:
        place = Place.below(tmp_path, server.base_url)
        async with run_on_terminal(place, "go") as (process, reader):
            await poll(lambda: "began" in reader.told)
            process.send_signal(signal.SIGKILL)
            await poll(lambda: process.poll() is not None)
        [sleeper] = sleepers(tmp_path)
        os.kill(sleeper, signal.SIGKILL)

    assert is_clean(reader.told)


def sleepers(folder: Path) -> list[int]:
    """Pids of the commands that run below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if str(path.readlink()).startswith(str(folder)):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def is_clean(told: str) -> bool:
    """Tell whether the last word about the cursor and about wrapping was to have them."""
    return told.rindex("\x1b[?25h") > told.rindex("\x1b[?25l") and told.rindex(
        "\x1b[?7h"
    ) > told.rindex("\x1b[?7l")


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
        ((), {"TERM": ""}),
        (("--color", "never"), {}),
        (("--json",), {}),
        (("--color", "always"), {"TERM": "dumb"}),
    ],
)
async def test_who_wants_no_view_gets_lines(
    tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    async with open_server([[{"say": "done"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        async with run_on_terminal(place, *arguments, "go", env=env) as (process, reader):
            await poll(lambda: process.poll() is not None)

    assert 0 == process.returncode
    assert "\x1b[?" not in reader.told
    assert "\x1b[K" not in reader.told


async def test_the_last_message_goes_to_stdout_too(tmp_path: Path) -> None:
    async with open_server([[{"say": "done"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        async with run_on_terminal(place, "go", env={"TERM": "xterm"}) as (process, reader):
            assert process.stdout is not None
            message = await trio.to_thread.run_sync(process.stdout.read)
            await poll(lambda: process.poll() is not None)

    assert b"done\n" == message
    assert "done" in reader.told


# --- a terminal that people use ---


def program(place: Place, *arguments: str) -> tuple[list[str], Path, dict[str, str]]:
    command = [sys.executable, "-m", "codex_actors", "exec", *FULL, *arguments, "go"]
    env = {"CODEX_ACTORS_HOME": str(place.home), "PYTHONPATH": str(ROOT), "TERM": "screen-256color"}
    return command, place.work, env


async def test_the_demo_can_be_read_afterwards(tmp_path: Path, tmux: Tmux) -> None:
    command = [sys.executable, demo.__file__]
    tmux.open(command, ROOT, {"TERM": "screen-256color", "PYTHONPATH": str(ROOT)})
    await poll(lambda: "ended with " in tmux.screen())

    log = tmux.log()
    expected = [
        "› The tests of this project fail. Find out why, and mend it.",
        "First I need to see what is here.",
        "✓ ls && cat README.md",
        "✗ python3 -B -m unittest 2>&1  exit code 1",
        "✓ git log --oneline",
        "✓ update tally.py",
        '  +    return f"{minutes // 60:02d}:{minutes % 60:02d}"',
        "Mended: show in tally.py:12 took minutes modulo 100 instead of 60. All 3 tests pass.",
        "ended with 0",
    ]
    places = [log.index(line) for line in expected]
    assert sorted(places) == places
    assert [1] * len(expected) == [log.count(line) for line in expected]
    assert not set("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") & set(log)
    assert ("1", "1") == tmux.state()


async def test_what_is_going_on_is_below_the_log_until_it_is_interrupted(
    tmp_path: Path, tmux: Tmux
) -> None:
    async with open_server(SLOW) as server:
        tmux.open(*program(Place.below(tmp_path, server.base_url)))
        await poll(lambda: "running echo began; exec sleep 1000 1 s" in tmux.screen())
        running = tmux.screen().rstrip().split("\n")
        tmux.tell("send-keys", "C-c")
        await poll(lambda: "ended with " in tmux.screen())

    assert running[-3][2:].startswith("echo began; exec sleep 1000  ")
    assert "  began" == running[-2]
    assert running[-1][2:].startswith("running echo began; exec sleep 1000 ")
    lines = tmux.log().rstrip().split("\n")
    assert ["✗ echo began; exec sleep 1000  killed", "  began", "■ interrupted by user", "ended with 1"] == [
        lines[-6][:37], *lines[-5:-3], lines[-1]
    ]  # fmt: skip
    assert re.fullmatch(r"90 tokens in \d+(\.\d)? s", lines[-2])
    assert ("1", "1") == tmux.state()


async def test_a_terminal_may_change_its_size(tmp_path: Path, tmux: Tmux) -> None:
    wide = "日本語 👩‍🚀 " * 30
    slow = [[{"call": "exec_command", "args": {
        "cmd": f"for i in 1 2 3; do echo '{wide}'; done; until [ -e go ]; do sleep 0.05; done",
        "yield_time_ms": 30000,
    }}], [{"say": "The end."}]]  # fmt: skip
    async with open_server(slow) as server:
        place = Place.below(tmp_path, server.base_url)
        tmux.open(*program(place))
        await poll(lambda: tmux.screen().count("日本語") >= 3)
        for width in (60, 33, 90, 100):
            tmux.tell("resize-window", "-x", str(width))
            await poll(lambda: tmux.screen().count("running for i in 1 2 3") == 1)
        (place.work / "go").touch()
        await poll(lambda: "ended with " in tmux.screen())

    log = tmux.log()
    assert not set("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") & set(log)
    assert (1, 1) == (log.count("✓ for i in 1 2 3"), log.count("The end."))
