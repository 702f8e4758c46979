"""What once broke the program, as it was done: hostile terminals, signals, files and servers."""

from __future__ import annotations

import os
import pty
import signal
from pathlib import Path

import pytest

from tests.integration.support import (
    FULL,
    Place,
    finish,
    open_server,
    poll,
    processes_with,
)

BEYOND_LATIN = "gl\N{LATIN SMALL LETTER U WITH DIAERESIS}ck \N{GRINNING FACE}"
NARROW = {"PYTHONIOENCODING": "ascii"}
PATCHES = '[models."mock-model"]\ncontext_window = 9999\napply_patch = "freeform"'


def daemon(marker: str) -> str:
    """Return a command that leaves its session and then waits for minutes."""
    return f"setsid bash -c 'exec -a {marker} sleep 1000' & sleep 1000"


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGTERM, 143)]
)
async def test_whatever_signal_ends_the_program_nothing_is_left_running(
    tmp_path: Path, number: int, status: int
) -> None:
    marker = f"left-{os.getpid()}-{tmp_path.name}"
    steps = [[{"call": "exec_command", "args": {"cmd": daemon(marker)}}]]
    async with open_server(steps) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", "--json", *FULL, "go")
        await poll(lambda: processes_with(marker))
        process.send_signal(number)
        ended = await finish(process)

    assert (status, []) == (ended.status, processes_with(marker))
    assert "turn_aborted" == place.lines()[-1]["payload"]["type"]


async def test_nohup_is_heeded(tmp_path: Path) -> None:
    command = "touch started; while [ ! -e end ]; do sleep 0.05; done"
    steps = [[{"call": "exec_command", "args": {"cmd": command}}], [{"say": "ok"}]]
    async with open_server(steps) as server:
        place = Place.below(tmp_path, server.base_url)
        ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = place.start("exec", *FULL, "go", restore_signals=False)
        finally:
            signal.signal(signal.SIGHUP, ignored)
        await poll((place.work / "started").exists)
        process.send_signal(signal.SIGHUP)
        (place.work / "end").touch()
        ended = await finish(process)

    assert (0, "ok\n") == (ended.status, ended.stdout)


async def test_a_narrow_locale_does_not_stop_an_agent(tmp_path: Path) -> None:
    async with open_server([[{"say": BEYOND_LATIN}], [{"say": BEYOND_LATIN}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        told = await place.run("exec", "--json", *FULL, BEYOND_LATIN, env=NARROW)
        shown = await place.run("exec", *FULL, BEYOND_LATIN, env=NARROW)

    said = [e["item"]["text"] for e in told.events if "text" in e.get("item", {})]
    assert (0, [BEYOND_LATIN]) == (told.status, said)
    assert (0, "gl\\xfcck \\U0001f600\n") == (shown.status, shown.stdout)


async def test_a_path_that_is_no_text_is_told_as_json(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"
    steps = [[{"custom": "apply_patch", "input": patch}], [{"say": "ok"}]]
    async with open_server(steps) as server:
        place = Place.below(tmp_path, server.base_url)
        place.configure(server.base_url, PATCHES)
        odd = os.fsencode(place.work) + b"/\xff"
        os.mkdir(odd)
        ended = await place.run("exec", "--json", *FULL, "go", cwd=odd)

    assert (0, b"x\n") == (ended.status, Path(os.fsdecode(odd), "new").read_bytes())
    [done] = [
        e["item"] for e in ended.events if e["type"] == "item.completed" and "changes" in e["item"]
    ]
    assert "completed" == done["status"]


async def test_the_last_message_cannot_command_a_terminal(tmp_path: Path) -> None:
    async with open_server([[{"say": "before\x1b[2Jafter"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        ours, theirs = pty.openpty()
        try:
            process = place.start("exec", *FULL, "go", stdout=theirs)
            ended = await finish(process)
            shown = os.read(ours, 1000)
        finally:
            os.close(ours)
            os.close(theirs)

    assert (0, "before\N{REPLACEMENT CHARACTER}[2Jafter") == (ended.status, shown.decode().rstrip())


async def test_a_patch_of_a_huge_file_is_refused_and_not_read(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: huge\n@@\n-a\n+b\n*** End Patch"
    async with open_server(
        [[{"custom": "apply_patch", "input": patch}], [{"say": "ok"}]]
    ) as server:
        place = Place.below(tmp_path)
        place.configure(server.base_url, PATCHES)
        with (place.work / "huge").open("wb") as file:
            file.truncate(1 << 40)
        ended = await place.run("exec", "--json", *FULL, "go")

    [output] = [
        line["payload"]["output"]
        for line in place.lines()
        if line["payload"].get("type") == "custom_tool_call_output"
    ]
    assert 0 == ended.status
    assert "the most that a patch may touch" in output
