"""What `codex-actors exec` does besides its turn: it remembers the prompt, and tells of the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codex_actors.cli._exec_parser import ExecOptions
from codex_actors.cli._exec_run import Job, run_exec
from codex_actors.config import Loaded
from codex_actors.protocol import (
    DangerFullAccess,
    EventMsg,
    ModelInfo,
    Provider,
    Settings,
    WarningRaised,
)
from tests.integration.support import FULL, Place, open_server

SAY = [[{"say": "done"}]]


async def run(folder: Path, *notify: str, steps: object = SAY) -> tuple[int, list[EventMsg]]:
    (folder / "home").mkdir()
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": steps}), "utf-8")
    settings = Settings(
        model=ModelInfo(slug="m"),
        provider=Provider(id="scripted", script=str(script)),
        cwd=str(folder),
        home=str(folder / "home"),
        sandbox_policy=DangerFullAccess(),
        notify=notify,
    )
    shown: list[EventMsg] = []
    job = Job(
        options=ExecOptions(prompt="go"), loaded=Loaded(settings), prompt="go", show=shown.append
    )
    status, _ = await run_exec(job)
    return status, shown


TELL = ("/bin/sh", "-c", 'printf %s "$1" > told', "sh")


async def test_a_completed_turn_is_told_of(tmp_path: Path) -> None:
    status, shown = await run(tmp_path, *TELL)

    told = json.loads((tmp_path / "told").read_text("utf-8"))
    assert 0 == status
    assert told.pop("thread-id")
    assert told.pop("turn-id")
    assert {
        "type": "agent-turn-complete",
        "cwd": str(tmp_path),
        "input-messages": ["go"],
        "last-assistant-message": "done",
    } == told
    assert not [msg for msg in shown if isinstance(msg, WarningRaised) and "notif" in str(msg)]


async def test_a_failed_turn_is_not(tmp_path: Path) -> None:
    status, _ = await run(tmp_path, *TELL, steps=[[{"http": 400, "body": "no"}]])

    assert (1, False) == (status, (tmp_path / "told").exists())


async def test_trouble_with_it_is_one_warning(tmp_path: Path) -> None:
    status, shown = await run(tmp_path, "/bin/sh", "-c", "exit 3")

    assert 0 == status
    assert WarningRaised("the notify program '/bin/sh' ended with status 3") == shown[-1]


async def test_the_prompt_is_remembered(tmp_path: Path) -> None:
    async with open_server([*SAY, *SAY]) as server:
        place = Place.below(tmp_path, server.base_url)
        first = await place.run("exec", *FULL, "one")
        second = await place.run("exec", *FULL, "resume", "--last", "two")

    assert (0, 0) == (first.status, second.status), second.stderr
    lines = (place.home / "history.jsonl").read_text("utf-8").splitlines()
    prompts = [json.loads(line) for line in lines]
    assert ["one", "two"] == [prompt["text"] for prompt in prompts]
    assert 1 == len({prompt["session_id"] for prompt in prompts})


async def test_an_ephemeral_prompt_is_not(tmp_path: Path) -> None:
    async with open_server(SAY) as server:
        place = Place.below(tmp_path, server.base_url)
        await place.run("exec", "--ephemeral", *FULL, "one")

    assert not (place.home / "history.jsonl").exists()


@pytest.mark.parametrize("junk", [b"junk\n", b"\xff"])
async def test_a_damaged_history_is_one_warning(tmp_path: Path, junk: bytes) -> None:
    async with open_server(SAY) as server:
        place = Place.below(tmp_path, server.base_url)
        (place.home / "history.jsonl").write_bytes(junk)
        ended = await place.run("exec", *FULL, "one")

    assert 0 == ended.status
    assert 1 == ended.stderr.count("was damaged")
