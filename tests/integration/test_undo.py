"""`codex-actors undo` after `codex-actors exec`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.integration.support import FULL, Place, open_server

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
