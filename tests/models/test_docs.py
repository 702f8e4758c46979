"""The examples of the documentation, run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codex_actors.models import ScriptedModel, parse_script
from codex_actors.models._script_plan import ScriptedRequest, plan

DOCS = Path(__file__).parents[2] / "docs"


def examples(path: str, language: str) -> list[str]:
    text = (DOCS / path).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_script_files_are_some() -> None:
    file, for_exec = examples("reference/scripts.md", "json")
    assert parse_script(for_exec.encode()).steps
    script = parse_script(file.encode())
    output = b'{"type":"function_call_output","call_id":"r0c0","output":"version 1.2"}'
    answering = plan(script, ScriptedRequest(input=[output]))

    assert answering.items == ({"say": "It is version 1.2."},)


def test_the_carried_script_is_one() -> None:
    (text,) = examples("reference/scripts.md", "text")

    assert parse_script(text.removeprefix("SCRIPT ").encode()).steps


def test_the_function_is_a_step() -> None:
    names: dict[str, Any] = {}
    exec(examples("reference/scripts.md", "python")[0], names)

    assert isinstance(names["model"], ScriptedModel)


async def test_the_wrapping_client_keeps_the_contract() -> None:
    names: dict[str, Any] = {}
    for example in examples("how-to/write-a-model-client.md", "python")[1:]:
        exec(example, names)
    await names["test_the_contract"]()
