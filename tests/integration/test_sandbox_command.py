"""`codex-actors sandbox` as a process of its own, ended in all the ways there are."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from codex_actors.sandbox import find_sandboxes
from tests.integration.support import Place, finish
from tests.sandbox.support import Workshop, wait_until

NAMES = [sandbox.name for sandbox in find_sandboxes()]
MOUNTING = [name for name in NAMES if name != "landlock"]
pytestmark = pytest.mark.skipif(not NAMES, reason="no sandbox works on this machine")
# They have thrown off what they could be known by; what they carry is for the test to see.
DAEMON = """
setsid env -i TEST_MARK=$TEST_MARK sleep 1000 > /dev/null 2>&1 &
setsid env -i sh -c 'sleep 1000; : {token}' > /dev/null 2>&1 &
"""


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    workshop = Workshop()
    yield workshop
    for pid in workshop.alive():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start(place: Place, workshop: Workshop, *words: str) -> subprocess.Popen[bytes]:
    return place.start("sandbox", *words, env={"TEST_MARK": workshop.token})


async def wait_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    with trio.fail_after(60):
        line = await trio.to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)
    assert b"ready\n" == line


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, number) for name in NAMES for number in (signal.SIGINT, signal.SIGTERM)),
        *((name, number) for name in NAMES[:1] for number in (signal.SIGHUP, signal.SIGQUIT)),
    ],
)
async def test_a_signal_to_the_program_alone_ends_the_command(
    tmp_path: Path, workshop: Workshop, name: str, number: signal.Signals
) -> None:
    place = Place.below(tmp_path)
    script = "trap 'exit 1' CHLD; echo ready; exec sleep 1000"
    process = start(place, workshop, "--mechanism", name, "--", "sh", "-c", script)
    await wait_ready(process)
    await workshop.wait_program("sleep")
    process.send_signal(number)
    ended = await finish(process)

    assert (128 + number, "") == (ended.status, ended.stderr)
    await workshop.wait_alive(0)


@pytest.mark.parametrize("name", NAMES[-1:])
async def test_a_command_may_answer_a_signal(tmp_path: Path, workshop: Workshop, name: str) -> None:
    place = Place.below(tmp_path)
    script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = start(place, workshop, "--mechanism", name, "--", "sh", "-c", script)
    await wait_ready(process)
    process.send_signal(signal.SIGTERM)
    ended = await finish(process)

    assert (7, "bye\n") == (ended.status, ended.stdout)
    await workshop.wait_alive(0)


@pytest.mark.parametrize("name", NAMES)
async def test_a_command_that_does_not_want_to_end_is_ended_with_all_it_started(
    tmp_path: Path, workshop: Workshop, name: str
) -> None:
    place = Place.below(tmp_path)
    deaf = "trap '' TERM HUP INT QUIT;" + DAEMON.format(token=workshop.token)
    script = f"{deaf} echo ready; while :; do sleep 0.05; done"
    process = start(place, workshop, "--mechanism", name, "--", "sh", "-c", script)
    await wait_ready(process)
    process.send_signal(signal.SIGTERM)
    await finish(process)

    await workshop.wait_alive(0)


@pytest.mark.parametrize("name", NAMES)
async def test_nothing_lives_on_when_the_program_is_killed(
    tmp_path: Path, workshop: Workshop, name: str
) -> None:
    place = Place.below(tmp_path)
    script = f"{DAEMON.format(token=workshop.token)} echo ready; exec sleep 1000"
    process = start(place, workshop, "--mechanism", name, "--", "sh", "-c", script)
    await wait_ready(process)
    process.kill()
    await finish(process)

    await workshop.wait_alive(0)


@pytest.mark.parametrize("name", NAMES)
async def test_nothing_outlives_the_command(tmp_path: Path, workshop: Workshop, name: str) -> None:
    place = Place.below(tmp_path)
    process = start(
        place, workshop, "--mechanism", name, "--", "sh", "-c", DAEMON.format(token=workshop.token)
    )

    assert 0 == (await finish(process)).status
    assert set() == workshop.alive()


@pytest.mark.skipif(not MOUNTING, reason="nothing here can protect what is below a root")
@pytest.mark.parametrize("name", MOUNTING[:1])
async def test_what_stood_in_for_folders_is_gone_after_the_next_start(
    tmp_path: Path, workshop: Workshop, name: str
) -> None:
    place = Place.below(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    words = ("-s", "workspace-write", "--mechanism", name)
    process = start(place, workshop, *words, "--", "sh", "-c", "echo ready; exec sleep 1000")
    await wait_ready(process)
    assert {".agents", ".codex", ".git"} == set(os.listdir(place.work))
    process.kill()
    await finish(process)
    await wait_until(lambda: not workshop.alive())
    (place.work / ".codex").rmdir()
    (place.work / ".codex").mkdir(0o755)

    assert 0 == (await place.run("sandbox", "-C", str(other), "--", "true")).status
    assert [".codex"] == os.listdir(place.work), "only what is ours is taken away"
    assert [] == list((place.home / "processes").iterdir())
    assert [] == os.listdir(other)
