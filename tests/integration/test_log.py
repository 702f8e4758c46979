"""What a run of `codex-actors exec` leaves in its log."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.support import FULL, Place, open_server

KEY = "a-key-that-nobody-should-read"
HELLO = [
    [{"call": "exec_command", "args": {"cmd": "echo the-output"}}],
    [{"say": "the-answer"}],
]


def configured(folder: Path, base_url: str) -> Place:
    place = Place.below(folder, base_url)
    place.configure(base_url, f'experimental_bearer_token = "{KEY}"')
    return place


async def test_the_story_of_a_turn(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = configured(tmp_path, server.base_url)
        ended = await place.run("exec", "--log-level", "info", *FULL, "the-prompt")

    assert 0 == ended.status, ended.stderr
    text = (place.home / "log" / "codex-actors.log").read_text("utf-8")
    told = [line.split(maxsplit=5)[5] for line in text.splitlines()]
    shapes = [re.sub(r"\d+\.\d+ s|id .*", "_", line) for line in told]
    assert [
        "the turn begins",
        "mock-model answered with status 200 after _, request _",
        "exec_command r0c0: started",
        "exec_command r0c0: ended after _",
        "mock-model answered with status 200 after _, request _",
        "the turn ended as done after _",
    ] == shapes
    ids = {tuple(line.split()[2:4]) for line in text.splitlines()}
    assert 1 == len(ids)
    assert not re.search(f"{KEY}|the-prompt|the-output|the-answer", text)


async def test_retries_are_told(tmp_path: Path) -> None:
    place = configured(tmp_path, "http://127.0.0.1:9/v1")
    ended = await place.run("exec", *FULL, "go", env={"CODEX_ACTORS_LOG": "info"})

    assert 1 == ended.status
    text = (place.home / "log" / "codex-actors.log").read_text("utf-8")
    assert "the request failed and is sent again in" in text
    assert "broke off; the next one begins in" in text


async def test_no_log_unless_asked_for(tmp_path: Path) -> None:
    async with open_server(HELLO) as server:
        place = configured(tmp_path, server.base_url)
        await place.run("exec", *FULL, "go")

    assert not (place.home / "log").exists()
