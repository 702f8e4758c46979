"""What real commands of a real `codex-actors exec` see of its environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.team import DONE, script, spawn, wait
from tests.integration.support import FULL, Place, open_server

SECRETS = {
    "SOME_TOKEN": "hush-1",
    "DATABASE_URL": "postgres://me:hush-2@host/db",
    "MY_PASSWORD": "hush-3",
}
PLAIN = {"SSH_AUTH_SOCK": "/run/agent", "SOME_URL": "http://host/"}
SHOW = [
    [{"call": "exec_command", "args": {"cmd": "env; echo LOGIN=$(shopt login_shell)"}}],
    [{"say": "done"}],
]


async def show(folder: Path, toml: str, *words: str) -> dict[str, str]:
    async with open_server(SHOW) as server:
        place = Place.below(folder, server.base_url)
        place.configure(server.base_url, toml)
        ended = await place.run(
            *("exec", "--json", *FULL, *words, "go"),
            env={**SECRETS, **PLAIN, "HOME": str(place.home), "SHELL": "/bin/bash"},
        )
    assert ended.status == 0, ended.stderr
    [item] = [event["item"] for event in ended.events if is_command(event)]
    return dict(line.partition("=")[::2] for line in item["aggregated_output"].splitlines())


def is_command(event: dict[str, Any]) -> bool:
    is_end = event["type"] == "item.completed"
    return is_end and bool(event["item"]["type"] == "command_execution")


async def test_secrets_are_kept_from_commands(tmp_path: Path) -> None:
    seen = await show(tmp_path, "")

    assert set(seen).isdisjoint(SECRETS)
    assert PLAIN.items() <= seen.items()
    assert "CODEX_THREAD_ID" in seen


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("ignore_default_excludes = true", {*SECRETS, *PLAIN}),
        ("keep = ['some_token']\nexclude = ['ssh*']", {"SOME_TOKEN", "SOME_URL"}),
        ("include_only = ['path', 'SOME_*']", {"SOME_URL"}),
        ("inherit = 'core'\nset = { SOME_TOKEN = 'mine' }", {"SOME_TOKEN"}),
    ],
)
async def test_a_policy_says_what_they_see(tmp_path: Path, toml: str, expected: set[str]) -> None:
    seen = await show(tmp_path, f"[shell_environment_policy]\n{toml}")

    assert expected == set(seen) & {*SECRETS, *PLAIN}
    assert "CODEX_THREAD_ID" in seen


@pytest.mark.parametrize(("allowed", "state"), [("true", "on"), ("false", "off")])
async def test_a_login_shell_reads_the_profile(tmp_path: Path, allowed: str, state: str) -> None:
    seen = await show(tmp_path, "", "-c", f"allow_login_shell={allowed}")

    assert ["login_shell", state] == seen["LOGIN"].split()


async def test_agents_that_were_made_see_no_more(tmp_path: Path) -> None:
    command = {"call": "exec_command", "args": {"cmd": "env", "login": False}}
    child = script([command], [{"say": "child done"}])
    async with open_server([]) as server:
        place = Place.below(tmp_path, server.base_url)
        place.configure(server.base_url, "[shell_environment_policy]\nset = { ADDED = '1' }")
        prompt = script([spawn(child)], [wait("$r0c0.agent_id")], DONE)
        ended = await place.run("exec", "--json", *FULL, prompt, env=SECRETS)

    assert ended.status == 0, ended.stderr
    [printed] = [
        line["payload"]["output"]
        for path in place.rollouts()
        for line in map(json.loads, path.read_text("utf-8").splitlines())
        if line["payload"].get("type") == "function_call_output"
        and "CODEX_THREAD_ID=" in line["payload"]["output"]
    ]
    assert "ADDED=1" in printed
    assert not [name for name in SECRETS if name in printed]
