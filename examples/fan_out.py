"""One agent for each file of a folder; what they find out is printed as it comes.

At most three turns run at once (`Capacity`), and all agents together may use so many tokens
(`Limits`). When these are used up, the tasks that are left end as over budget: that is an
outcome like any other, and the program goes on.

    python examples/fan_out.py FOLDER [--tokens N]    a script plays the model
    python examples/fan_out.py FOLDER --real          asks the model of your config.toml, or OpenAI's
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Annotated

import attrs
import trio

import codex_actors
from codex_actors.agents import AgentSpec, AgentTree, Task
from codex_actors.models import ScriptView
from codex_actors.protocol import (
    Capacity,
    Limits,
    Role,
    Settings,
    TaskCompleted,
    TaskId,
    TaskOverBudget,
    TaskRecord,
    ToolCall,
    ToolOutput,
)
from codex_actors.tools import Toolbox, ToolContext, answer, function_tool, refuse

READER = Role(
    name="reader",
    instructions="A task is the name of a file. Read it with the tool `read_file`, and say in one"
    " sentence what is in it.",
    limits=Limits(depth=0),  # readers have no children
)


@attrs.frozen(kw_only=True)
class ReadFile:
    path: Annotated[str, "The file; relative paths begin at the folder."]


async def read_file(wish: ReadFile, call: ToolCall, context: ToolContext) -> ToolOutput:
    try:
        return answer(call, await trio.Path(context.settings.cwd, wish.path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return refuse(call, f"cannot read {wish.path!r}: {error}")


READ_FILE = function_tool(
    name="read_file",
    description="Reads a text file.",
    arguments=ReadFile,
    run=read_file,
    gate="shared",
)


def open_file(view: ScriptView) -> list[dict[str, object]]:
    """Say what a model would, first: it wants to read the file that its task names."""
    return [{"call": "read_file", "args": {"path": view.user_text}}]


def sum_up(view: ScriptView) -> list[dict[str, object]]:
    lines = view.outputs["r0c0"].splitlines()
    return [{"say": f"{len(lines)} lines, the first is {(lines or [''])[0][:40]!r}."}]


async def read_all(tree: AgentTree, files: list[str], limits: Limits) -> list[TaskRecord]:
    """Have every file read, and print what comes of it; return what was not read."""
    root = await tree.spawn(AgentSpec(limits=limits))
    waiting: dict[TaskId, Task] = {}
    for file in files:
        reader = await root.spawn(AgentSpec(role=READER))
        task = await reader.assign(file)
        waiting[task.id] = task
    left: list[TaskRecord] = []
    while waiting:
        for record in await tree.wait_any(tuple(waiting.values())):
            del waiting[record.id]
            if isinstance(record.outcome, TaskCompleted):
                done = len(files) - len(waiting) - len(left)
                print(f"{done} of {len(files)}: {record.text}: {record.outcome.message}")
            else:
                left.append(record)
    print(f"{root.spent.turns} turns, {root.spent.tokens} tokens")
    return left


def load(folder: Path, *, real: bool) -> Settings:
    overrides = ["sandbox_mode=danger-full-access"]  # the only tool here reads a file
    if not real:  # a provider that needs no key, since it is never asked
        overrides += ["model_provider=none", "model_providers.none.base_url=http://localhost"]
    home = codex_actors.find_home(os.environ)
    cwd = str(folder.absolute())
    loaded = codex_actors.load_settings(home=home, environ=os.environ, cwd=cwd, overrides=overrides)
    return attrs.evolve(loaded.settings, capacity=Capacity(running=3))


async def main(settings: Settings, files: list[str], limits: Limits, *, real: bool) -> None:
    async with codex_actors.open_agents(
        settings,
        model=None if real else codex_actors.ScriptedModel(open_file, sum_up),
        toolbox=lambda _: Toolbox([READ_FILE]),
    ) as tree:
        left = await read_all(tree, files, limits)
    for record in left:
        match record.outcome:
            case TaskOverBudget(limit):
                print(f"{record.text} was not read: {limit}; allow more with --tokens")
            case outcome:
                print(f"{record.text} was not read: {outcome}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Have every file of a folder summed up.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, help="what all agents together may use")
    parser.add_argument("--real", action="store_true", help="ask a model, not a script")
    given = parser.parse_args()
    names = sorted(path.name for path in given.folder.iterdir() if path.is_file())
    trio.run(
        lambda: main(
            load(given.folder, real=given.real),
            names,
            Limits(tokens=given.tokens),
            real=given.real,
        )
    )
