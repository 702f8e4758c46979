"""Spawn children through the command line, and beside it through the reference's.

Both programs run ``exec`` against the package's scripted server. One response of the root's model
spawns all children; each child asks its model once. The reference is the program that the
environment variable ``CODEX`` names; without it there is nothing to compare with, and only this
project is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs
import trio

from benchmarks.samples import Row, compare, spread, table
from codex_actors.models import RecordedRequest, Script, serve_scripted

SECONDS: Final = 300.0
"""How long one run may take before it counts as hung."""
LINGER: Final = 3.0
"""Seconds that the root's last answer takes, so that the children end first."""
OURS: Final = (sys.executable, "-m", "codex_actors")

_CONFIG: Final = """
model = "bench"
model_provider = "bench"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[agents]
max_threads = {children}
[model_providers.bench]
name = "bench"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
"""


@final
@attrs.frozen
class Run:
    """What one run of a program did."""

    rate: float
    """Children per second, from the root's request to the last child's."""
    peak: float
    """Most memory that the process had resident, in MB."""


@final
@attrs.define(eq=False)
class _Watch:
    """When each thread asked its model first."""

    seconds: dict[str, float] = attrs.field(factory=dict)

    async def follow(self, requests: trio.MemoryReceiveChannel[RecordedRequest]) -> None:
        async for request in requests:
            name = request.headers.get("thread-id") or request.headers["session-id"]
            self.seconds.setdefault(name, trio.current_time())

    @property
    def children(self) -> int:
        return len(self.seconds) - 1

    @property
    def rate(self) -> float:
        moments = sorted(self.seconds.values())
        return self.children / (moments[-1] - moments[0])


def prompt_for(children: int) -> str:
    """A message that brings the script of the root, which brings those of the children."""
    child = "SCRIPT " + json.dumps([[{"say": "Done."}]])
    call = {"call": "spawn_agent", "namespace": "multi_agent_v1", "args": {"message": child}}
    return "SCRIPT " + json.dumps([[call] * children, [{"sleep": LINGER}, {"say": "All done."}]])


async def run(program: Sequence[str], children: int) -> Run:
    """Run one program with a home and a directory of its own.

    Raises:
        AssertionError: if it failed, or a child never asked its model.
    """
    # Not below the temporary folder: the reference does not work from there.
    with tempfile.TemporaryDirectory(prefix="bench-", dir=Path.home()) as folder:
        async with _open_server() as (url, watch):
            peak = await _exec(program, Path(folder), url, children)
    assert watch.children == children, f"{watch.children} of {children} children came"
    return Run(watch.rate, peak)


@asynccontextmanager
async def _open_server() -> AsyncGenerator[tuple[str, _Watch], None]:
    send, receive = trio.open_memory_channel[RecordedRequest](float("inf"))
    watch = _Watch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.follow, receive)
        server = await nursery.start(partial(serve_scripted, Script(steps=()), record=send))
        yield server.base_url, watch
        nursery.cancel_scope.cancel()


async def _exec(program: Sequence[str], folder: Path, url: str, children: int) -> float:
    """Run it to its end; return the most memory that it had, in MB."""
    # By hand, since of a process that somebody else waited for nobody can tell the memory.
    status, peak = await _wait(_start(program, folder, url, children))
    assert status == 0, (folder / "out").read_text()[-2000:]
    return peak / 1000


def _start(program: Sequence[str], folder: Path, url: str, children: int) -> int:
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text(_CONFIG.format(children=children + 1, url=url))
    command = [*program, "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"]
    return os.posix_spawnp(
        command[0],
        [*command, "-C", str(work), prompt_for(children)],
        {**os.environ, "CODEX_HOME": str(home), "CODEX_ACTORS_HOME": str(home)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "out"), os.O_WRONLY | os.O_CREAT, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )


async def _wait(pid: int) -> tuple[int, int]:
    """Wait for a process; return its exit status, and the most memory it had in kB."""
    try:
        with trio.fail_after(SECONDS):
            _, status, usage = await trio.to_thread.run_sync(
                os.wait4, pid, 0, abandon_on_cancel=True
            )
    except trio.TooSlowError:
        os.kill(pid, 9)
        raise
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss


async def measure(reference: str | None, children: int, runs: int) -> list[Row]:
    """Run both in turns, and compare."""
    ours, theirs = list[Run](), list[Run]()
    for _ in range(runs):
        ours.append(await run(OURS, children))
        if reference is not None:
            theirs.append(await run([reference], children))
    if not theirs:
        for name, values in (("rate", [r.rate for r in ours]), ("peak", [r.peak for r in ours])):
            print(f"{name}: {spread(values)}")
        return []
    rates = [run.rate for run in ours], [run.rate for run in theirs]
    peaks = [run.peak for run in ours], [run.peak for run in theirs]
    return [
        compare(f"{children} children", "1/s", *rates, "at least 3"),
        compare("peak memory", "MB", *peaks, "at most 0.33"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    reference = os.environ.get("CODEX")
    if reference is None:
        print("CODEX names no reference program; measuring this project alone", file=sys.stderr)
    rows = trio.run(measure, reference, given.children, given.runs)
    if rows:
        print(table(rows, floor="reference"))


if __name__ == "__main__":
    main()
