"""A tree of agents is killed in the middle of its work, and goes on where it was.

The program starts itself a second time, as a process that has three agents at work, and ends
that process with SIGKILL. Then it opens the same tree again: the agents are there under their
names, the letters are unread still, and the task that was cut off is run again.

    python examples/survives_kill.py           a script plays the model: no key, no network
    python examples/survives_kill.py --real    asks the model of your config.toml, or OpenAI's
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import attrs
import trio

import codex_actors
from codex_actors.agents import AgentSpec, AgentTree
from codex_actors.models import ScriptView
from codex_actors.protocol import Settings, ToolCall, ToolOutput
from codex_actors.tools import Tool, Toolbox, ToolContext, answer

PILOT = (
    "Find out with the tool `wait_for_tide` whether the tide is in, then answer in one sentence."
)


@attrs.define(eq=False)
class Harbour:
    """What the pilot's tool waits for."""

    asked: trio.Event = attrs.field(factory=trio.Event)
    tide: trio.Event = attrs.field(factory=trio.Event)

    async def wait_for_tide(self, call: ToolCall, _: ToolContext) -> ToolOutput:
        self.asked.set()
        await self.tide.wait()
        return answer(call, "the tide is in")

    def tools(self, _: Settings) -> Toolbox:
        wait = Tool(
            name="wait_for_tide",
            description="Waits for the tide.",
            parameters={"type": "object", "properties": {}},
            run=self.wait_for_tide,
        )
        return Toolbox([wait])


def begin(view: ScriptView) -> list[dict[str, object]]:
    """Say what a model would: the pilot looks for the tide, the mate only says something."""
    if "harbour" in view.user_text:
        return [{"call": "wait_for_tide", "args": {}}]
    return [{"say": "Aye."}]


def look_again(view: ScriptView) -> list[dict[str, object]]:
    """A call that was cut off has an output that says so."""
    if "the tide is in" in view.outputs.values():
        return [{"say": "The tide is in: we can leave the harbour."}]
    return [{"call": "wait_for_tide", "args": {}}]


SCRIPT = codex_actors.ScriptedModel(begin, look_again, look_again)


def load(folder: str, *, real: bool) -> Settings:
    overrides = ["sandbox_mode=danger-full-access"]  # no tool here does any harm
    if not real:  # a provider that needs no key, since it is never asked
        overrides += ["model_provider=none", "model_providers.none.base_url=http://localhost"]
    home = codex_actors.find_home(os.environ)
    loaded = codex_actors.load_settings(
        home=home, environ=os.environ, cwd=folder, overrides=overrides
    )
    # The records of this example are not to stay.
    return attrs.evolve(loaded.settings, home=folder)


def show(tree: AgentTree) -> None:
    for agent in tree.snapshot():
        status = agent.status if isinstance(agent.status, str) else type(agent.status).__name__
        print(
            f"  {agent.path:16}  {status:12}  {agent.letters} unread  {agent.task or ''}".rstrip()
        )


async def set_out(settings: Settings, *, real: bool) -> None:
    """Be the process that is killed."""
    harbour = Harbour()
    async with codex_actors.open_agents(
        settings, model=None if real else SCRIPT, toolbox=harbour.tools
    ) as tree:
        captain = await tree.spawn()
        pilot = await captain.spawn(AgentSpec(name="pilot", instructions=PILOT))
        mate = await pilot.spawn(AgentSpec(name="mate"))
        await (await mate.assign("Say aye.")).wait()
        await captain.send("The owner called.")
        await mate.send("Sweep the deck.")
        await mate.send("And paint the mast.")
        await pilot.assign("Can we leave the harbour?")
        await harbour.asked.wait()
        show(tree)
        print(captain.thread_id, flush=True)
        await trio.sleep_forever()


async def go_on(settings: Settings, thread: str, *, real: bool) -> None:
    """Open the tree again that the other process had."""
    harbour = Harbour()
    async with codex_actors.open_agents(
        settings, model=None if real else SCRIPT, toolbox=harbour.tools
    ) as tree:
        await tree.spawn(AgentSpec(resume=thread, unfinished="restart"))
        (task,) = tree.restarted
        await harbour.asked.wait()
        show(tree)
        harbour.tide.set()
        record = await task.wait()
        print(f"{record.path}: {record.outcome}")


def main(folder: str, *, real: bool) -> None:
    words = [sys.executable, __file__, "--set-out", folder, *(["--real"] if real else [])]
    print("A tree is at work:")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith("  "):
                break  # the last line is the id of the tree's root
            print(line, end="")
        process.kill()
    print(f"Killed: exit status {process.returncode}. The same tree, in another process:")
    trio.run(lambda: go_on(load(folder, real=real), line.strip(), real=real))


if __name__ == "__main__":
    REAL = "--real" in sys.argv
    if "--set-out" in sys.argv:
        trio.run(lambda: set_out(load(sys.argv[2], real=REAL), real=REAL))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(name, real=REAL)
