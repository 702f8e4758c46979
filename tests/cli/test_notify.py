"""A program of the user's is told of a turn, and cannot harm it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._notify import MOST_BYTES, NOTIFY_SECONDS, Notice, notify
from codex_actors.protocol import ModelInfo, Provider, Settings
from tests.integration.support import processes_with


def settings(folder: Path, *argv: str) -> Settings:
    return Settings(
        model=ModelInfo(slug="m"),
        provider=Provider(id="p"),
        cwd=str(folder),
        home=str(folder),
        notify=argv,
    )


def notice(prompt: str = "go", message: str | None = "done") -> Notice:
    return Notice(thread_id="t", turn_id="u", cwd="/w", prompts=(prompt,), message=message)


async def test_it_gets_one_json_argument(tmp_path: Path) -> None:
    script = 'printf %s "$#:$2" > told; echo noise'
    argv = ("/bin/sh", "-c", script, "sh", "mine")

    assert None is await notify(settings(tmp_path, *argv), notice(), os.environ)

    number, _, argument = (tmp_path / "told").read_text("utf-8").partition(":")
    assert "2" == number
    assert {
        "type": "agent-turn-complete",
        "thread-id": "t",
        "turn-id": "u",
        "cwd": "/w",
        "input-messages": ["go"],
        "last-assistant-message": "done",
    } == json.loads(argument)


async def test_nobody_is_told_unless_somebody_is_named(tmp_path: Path) -> None:
    assert None is await notify(settings(tmp_path), notice(), os.environ)


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (("/bin/sh", "-c", "exit 3"), "the notify program '/bin/sh' ended with status 3"),
        (("/bin/sh", "-c", "kill -9 $$"), "the notify program '/bin/sh' ended with signal 9"),
        (("./nobody",), "nobody was notified: "),
    ],
)
async def test_its_failure_is_one_line(tmp_path: Path, argv: tuple[str, ...], problem: str) -> None:
    said = await notify(settings(tmp_path, *argv), notice(), os.environ)

    assert said is not None
    assert said.startswith(problem)
    assert "\n" not in said


async def test_what_hangs_is_killed_with_what_it_started(
    tmp_path: Path, autojump_clock: trio.abc.Clock
) -> None:
    marker = f"hang-{os.getpid()}"
    child = f"import time; '{marker}'; time.sleep(600)"
    script = f"import subprocess, time; subprocess.Popen({[sys.executable, '-c', child]!r}, "
    script += "start_new_session=True); open('started', 'w').close(); time.sleep(600)"

    said = await notify(settings(tmp_path, sys.executable, "-c", script), notice(), os.environ)

    assert f"still ran after {NOTIFY_SECONDS:g} s" in str(said)
    assert [] == processes_with(marker)


async def test_the_longest_argument_is_taken_by_the_system(tmp_path: Path) -> None:
    long = notice("\x01" * 10**6, "\N{GRINNING FACE}" * 10**6)

    assert None is await notify(settings(tmp_path, "/bin/true"), long, os.environ)


@given(prompt=st.text(), message=st.none() | st.text(), times=st.sampled_from([1, 50_000]))
def test_every_argument_is_short_and_whole(prompt: str, message: str | None, times: int) -> None:
    argument = notice(prompt * times, message).argument()

    assert len(argument.encode()) <= MOST_BYTES
    assert "\0" not in argument
    said = json.loads(argument)["input-messages"][0]
    sound = (prompt * times).encode("utf-8", "replace").decode()
    assert said == sound or (said.endswith("...") and sound.startswith(said[:-3]))
