"""How the other program's app server asks its client before it does something.

Set ``CODEX`` to the path of a Codex binary to run these.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.app_server import AppServer, Decisions, open_app_server
from tests.integration.listening import Listening, open_model
from tests.integration.support import Place

CODEX = os.environ.get("CODEX", "")
pytestmark = pytest.mark.skipif(not CODEX, reason="CODEX does not name a Codex binary")

QUIET = """
wire_api = "responses"
[analytics]
enabled = false
"""
REMOVE: dict[str, Any] = {"call": "exec_command", "args": {"cmd": "rm -f missing"}}
"""Asked about wherever it runs, even without a sandbox."""


@asynccontextmanager
async def asking(
    folder: Path, steps: Sequence[Any], *decisions: Any
) -> AsyncGenerator[tuple[AppServer, Listening, str], None]:
    """Run the app server with a script and decisions; yield both ends and a thread."""
    async with open_model([*steps, [{"say": "done"}]]) as model:
        place = Place.below(folder)
        place.configure(model.server.base_url, QUIET)
        env = os.environ | {"CODEX_HOME": str(place.home), "HOME": str(folder)}
        async with open_app_server(
            [CODEX, "app-server"], Decisions(decisions), cwd=place.work, env=env
        ) as server:
            thread = await server.start_thread(
                approvalPolicy="on-request", sandbox="danger-full-access"
            )
            yield server, model, thread


def statuses(server: AppServer) -> list[str]:
    items = [n["params"]["item"] for n in server.notices if n["method"] == "item/completed"]
    return [item["status"] for item in items if item["type"] == "commandExecution"]


async def test_a_command_is_asked_about_until_it_is_accepted_for_the_session(
    tmp_path: Path,
) -> None:
    decisions = ("decline", "accept", "acceptForSession")
    async with asking(tmp_path, [[REMOVE]] * 4, *decisions) as (server, model, thread):
        await server.run_turn(thread)

    assert ["r0c0", "r1c0", "r2c0"] == [asked.params["itemId"] for asked in server.asked]
    assert ["declined", "completed", "completed", "completed"] == statuses(server)
    assert "rejected by user" in model.outputs["r0c0"]
    assert "Process exited with code 0" in model.outputs["r3c0"]


async def test_a_cancelled_question_ends_the_turn(tmp_path: Path) -> None:
    async with asking(tmp_path, [[REMOVE]], "cancel") as (server, model, thread):
        turn = await server.wait_for_turn(await server.start_turn(thread))
        after = await server.wait_for_turn(await server.start_turn(thread, "go on"))

    assert ("interrupted", "completed") == (turn["status"], after["status"])
    assert model.outputs["r0c0"].endswith("aborted by user")
