"""The other program reads what we write, and we read what it writes.

Set ``CODEX`` to the path of a Codex binary to run these.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.support import FULL, Ended, Place, finish, open_server

CODEX = os.environ.get("CODEX", "")
pytestmark = pytest.mark.skipif(not CODEX, reason="CODEX does not name a Codex binary")

QUIET = """
[analytics]
enabled = false
"""


def steps(*said: str) -> str:
    """A prompt that says itself what is answered to it."""
    script: list[list[dict[str, object]]] = [
        [{"call": "exec_command", "args": {"cmd": f"echo {said[0]}"}}],
        [{"say": said[-1]}],
    ]
    return "SCRIPT " + json.dumps(script)


async def run_codex(place: Place, *arguments: str) -> Ended:
    process = subprocess.Popen(
        [CODEX, "exec", "--json", *FULL, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place.work,
        env=os.environ | {"CODEX_HOME": str(place.home)},
    )
    return await finish(process)


async def run_ours(place: Place, *arguments: str) -> Ended:
    return await place.run("exec", "--json", *FULL, *arguments)


@pytest.mark.parametrize("ours_first", [True, False])
async def test_each_program_goes_on_with_the_others_thread(
    tmp_path: Path, ours_first: bool
) -> None:
    first, second = (run_ours, run_codex) if ours_first else (run_codex, run_ours)
    async with open_server([[{"say": "?"}]]) as server:
        place = Place.below(tmp_path, server.base_url)
        place.configure(server.base_url, 'wire_api = "responses"' + QUIET)
        began = await first(place, steps("one"))
        thread = began.events[0]["thread_id"]
        went_on = await second(place, "resume", thread, steps("two"))
        came_back = await first(place, "resume", thread, steps("three"))

    for ended in (began, went_on, came_back):
        assert (0, "turn.completed") == (ended.status, ended.types[-1]), ended.stderr
        assert thread == ended.events[0]["thread_id"]
    outputs = [
        line["payload"]["output"].rpartition("Output:\n")[2]
        for line in place.lines()
        if line["payload"].get("type") == "function_call_output"
    ]
    assert ["one\n", "two\n", "three\n"] == outputs
    usage = [e.events[-1]["usage"]["input_tokens"] for e in (began, went_on, came_back)]
    assert [200, 400, 600] == usage
