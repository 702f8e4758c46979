"""`codex-actors undo` after `codex-actors exec`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.integration.support import FULL, INTERRUPT, Place, finish, open_server, poll

CHANGES = [
    [{"call": "exec_command", "args": {"cmd": "echo two > a; echo n > b; rm -r c"}}],
    [{"say": "done"}],
]
TALK = [[{"say": "hello"}]]


def lay(place: Place) -> None:
    script = (
        "git init -q; git config user.email a@example.com; git config user.name a;"
        " echo one > a; mkdir c; echo d > c/d; git add .; git commit -qm first"
    )
    subprocess.run(["sh", "-ec", script], cwd=place.work, check=True)


async def test_the_last_turn_is_taken_back(tmp_path: Path) -> None:
    async with open_server(CHANGES) as server:
        place = Place.below(tmp_path, server.base_url)
        lay(place)
        ran = await place.run("exec", *FULL, "go")
        assert (place.work / "b").exists()
        undone = await place.run("undo")
        again = await place.run("undo", "--last")

    assert (0, "") == (ran.status, "".join(w for w in ran.stderr.splitlines() if "undone" in w))
    assert (0, ["changed back: a", "removed: b", "restored: c/d"]) == (
        undone.status,
        undone.stdout.splitlines(),
    )
    assert ("one\n", "d\n") == (
        (place.work / "a").read_text("utf-8"),
        (place.work / "c" / "d").read_text("utf-8"),
    )
    assert not (place.work / "b").exists()
    assert 1 == again.status
    assert "taken back" in again.stderr


async def test_a_turn_without_commands_keeps_nothing(tmp_path: Path) -> None:
    async with open_server(TALK) as server:
        place = Place.below(tmp_path, server.base_url)
        await place.run("exec", *FULL, "go")

    assert not (place.home / "undo").exists()


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with open_server(CHANGES) as server:
        place = Place.below(tmp_path, server.base_url)
        (place.work / "c").mkdir()
        await place.run("exec", *FULL, "--disable", "undo", "go")
        undone = await place.run("undo")

    assert not (place.home / "undo").exists()
    assert 1 == undone.status


async def test_nothing_is_taken_back_while_a_turn_runs(tmp_path: Path) -> None:
    script = [[{"call": "exec_command", "args": {"cmd": "echo two > a"}}], [{"sleep": 60}]]
    async with open_server(script) as server:
        place = Place.below(tmp_path, server.base_url)
        process = place.start("exec", *FULL, "go")
        await poll(lambda: (place.work / "a").exists())
        undone = await place.run("undo")
        process.send_signal(INTERRUPT)
        await finish(process)

    assert 1 == undone.status
    assert f"process {process.pid} is at work" in undone.stderr
    assert "two\n" == (place.work / "a").read_text("utf-8")


async def test_a_thread_that_is_not_there_is_said_to_be_none(tmp_path: Path) -> None:
    place = Place.below(tmp_path)
    undone = await place.run("undo", "nosuch")

    assert 1 == undone.status
    assert "nosuch" in undone.stderr
    assert "taken back" not in undone.stderr
