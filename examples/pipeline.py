"""Three agents in a row: a collector, a writer and an editor, who hand on what they have done.

The program gives one task, to the first. Each of them hands its result to the next with the
tool `hand_on`, which sends a letter; the letter starts a turn (`trigger`). What they may do
narrows from step to step: the collector can read files, the role of the writer takes that away,
and the editor, who is the last, has no tool at all. Each may run one turn.

    python examples/pipeline.py           a script plays the model: no key, no network
    python examples/pipeline.py --real    asks the model of your config.toml, or OpenAI's
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import attrs
import trio

import codex_actors
from codex_actors.agents import AgentSpec, AgentTree
from codex_actors.models import ScriptView
from codex_actors.protocol import (
    AgentMessageRecorded,
    Completed,
    Errored,
    Event,
    Letter,
    Limits,
    Role,
    ToolCall,
    ToolOutput,
)
from codex_actors.tools import Tool, Toolbox, ToolContext, answer, function_tool, refuse

COLLECTOR = Role(
    name="collector",
    instructions="Read the file that you are given with `read_file`, hand on the facts with"
    " `hand_on`, and stop.",
    limits=Limits(depth=0, turns=1),
)
WRITER = Role(
    name="writer",
    instructions="Make one sentence of the facts, and hand it on with `hand_on`. Then stop.",
    without_tools=("read_file",),
    limits=Limits(depth=0, turns=1),
)
EDITOR = Role(
    name="editor",
    instructions="Answer with the sentence that you are sent, as short as can be.",
    without_tools=("read_file",),
    limits=Limits(depth=0, turns=1),
)
NOTES = "harbour: 12 ships\nmarket: closed\n"


@attrs.frozen(kw_only=True)
class ReadFile:
    path: Annotated[str, "The file; relative paths begin at the working directory."]


async def read_file(wish: ReadFile, call: ToolCall, context: ToolContext) -> ToolOutput:
    try:
        return answer(call, await trio.Path(context.settings.cwd, wish.path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return refuse(call, f"cannot read {wish.path!r}: {error}")


@attrs.frozen(kw_only=True)
class HandOn:
    text: Annotated[str, "What the next one is to go on with."]


READ_FILE = function_tool(
    name="read_file", description="Reads a text file.", arguments=ReadFile, run=read_file
)


def hand_on_to(tree: AgentTree, path: str) -> Tool:
    """Return a tool that hands its user's result to the agent of that path."""

    async def hand_on(wish: HandOn, call: ToolCall, context: ToolContext) -> ToolOutput:
        me = tree.agent(context.thread_id)
        await tree.agent(path).send(Letter(text=wish.text, sender=me.path, trigger=True))
        return answer(call, f"handed to {path}")

    return function_tool(
        name="hand_on",
        description="Hands your result to whoever comes next.",
        arguments=HandOn,
        run=hand_on,
    )


def begin(view: ScriptView) -> list[dict[str, object]]:
    """Say what a model would: letters have a header that says who wrote them."""
    _, _, said = view.user_text.partition("Payload:\n")
    if "Sender: /root/writer" in view.user_text:
        return [{"say": said.removeprefix("I hear that ").capitalize()}]
    if "Sender: /root/collector" in view.user_text:
        facts = " and ".join(said.splitlines())
        return [{"call": "hand_on", "args": {"text": f"I hear that {facts}."}}]
    return [{"call": "read_file", "args": {"path": view.user_text}}]


def go_on(view: ScriptView) -> list[dict[str, object]]:
    if "Sender:" in view.user_text:
        return [{"say": "I have handed it on."}]
    facts = view.outputs["r0c0"].replace(": ", " has ")
    return [{"call": "hand_on", "args": {"text": facts}}]


SCRIPT = codex_actors.ScriptedModel(begin, go_on, [{"say": "I have handed it on."}])


async def tell(tree: AgentTree, *, task_status: trio.TaskStatus[None]) -> None:
    """Print what the agents say, until the tree has ended."""
    async with tree.events() as events:
        task_status.started()
        async for event in events:
            match event:
                case Event(path=path, msg=AgentMessageRecorded(message)):
                    print(f"{path.name}: {message}")
                case _:
                    pass


async def main(cwd: str, *, real: bool) -> None:
    overrides = ["sandbox_mode=danger-full-access"]  # the only tools here read and write letters
    if not real:  # a provider that needs no key, since it is never asked
        overrides += ["model_provider=none", "model_providers.none.base_url=http://localhost"]
    loaded = codex_actors.load_settings(
        home=codex_actors.find_home(os.environ), environ=os.environ, cwd=cwd, overrides=overrides
    )
    async with (
        trio.open_nursery() as nursery,
        codex_actors.open_agents(
            loaded.settings,
            model=None if real else SCRIPT,
            toolbox=lambda _: Toolbox([READ_FILE]),
        ) as tree,
    ):
        await nursery.start(tell, tree)
        root = await tree.spawn()
        editor = await root.spawn(AgentSpec(name="editor", role=EDITOR))
        for role, following in ((WRITER, "/root/editor"), (COLLECTOR, "/root/writer")):
            hand_on = hand_on_to(tree, following)
            await root.spawn(AgentSpec(name=role.name, role=role, tools=(hand_on,)))
        await tree.agent("/root/collector").assign("notes.txt")
        await editor.status.wait_value(lambda status: isinstance(status, Completed | Errored))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes.txt").write_text(NOTES, "utf-8")
        trio.run(lambda: main(folder, real="--real" in sys.argv))
