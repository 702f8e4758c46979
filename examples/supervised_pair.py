"""A worker and a reviewer. The worker crashes, comes back, and does its task after all.

The root owns both. It asks no model: it is there to own them. When the worker crashes, it is
started again and its task is run again; the reviewer notices nothing of that. How the task
ended is told to the reviewer (`reply_to`), and that wakes it.

    python examples/supervised_pair.py           a script plays the model: no key, no network
    python examples/supervised_pair.py --real    asks the model of your config.toml, or OpenAI's
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
    Settings,
    ToolCall,
    ToolOutput,
    TurnStarted,
    WarningRaised,
)
from codex_actors.tools import Toolbox, ToolContext, answer, function_tool, refuse

WORKER = "You add up invoices with the tool `add_up`, and answer in one sentence with the sum."
REVIEWER = (
    "You are told how a task of the worker has ended. Do the sum yourself with the tool `add_up` on"
    " invoices.csv, and say in one sentence whether you accept the worker's answer."
)
INVOICES = "paper,120\nink,45\nrent,1005\n"


@attrs.frozen(kw_only=True)
class AddUp:
    path: Annotated[str, "The file; each of its lines is a name, a comma and an amount."]


async def add_up(wish: AddUp, call: ToolCall, context: ToolContext) -> ToolOutput:
    try:
        text = await trio.Path(context.settings.cwd, wish.path).read_text("utf-8")
        total = sum(int(line.partition(",")[2]) for line in text.splitlines())
    except (OSError, ValueError) as error:
        return refuse(call, f"cannot add up {wish.path!r}: {error}")
    return answer(call, str(total))


ADD_UP = function_tool(
    name="add_up", description="Adds up the amounts of a file.", arguments=AddUp, run=add_up
)


@attrs.define
class Ledger:
    """Where the tools come from. When the worker first asks for them, it is down."""

    down: bool = True

    def tools(self, settings: Settings) -> Toolbox:
        if settings.developer_instructions == WORKER and self.down:
            self.down = False
            raise ConnectionError("the ledger does not answer")
        return Toolbox([ADD_UP])


def judge(view: ScriptView) -> list[dict[str, str]]:
    """Say what a model would: of the two agents, the reviewer is the one that is told news."""
    total = view.outputs["r0c0"]
    if not view.user_text.startswith("<subagent_notification>"):
        return [{"say": f"The invoices come to {total}."}]
    verdict = "accepted" if total in view.user_text else "not accepted"
    return [{"say": f"I get {total} as well: {verdict}."}]


SCRIPT = codex_actors.ScriptedModel([{"call": "add_up", "args": {"path": "invoices.csv"}}], judge)


async def tell(tree: AgentTree, *, task_status: trio.TaskStatus[None]) -> None:
    """Print what the agents do, until the tree has ended."""
    async with tree.events() as events:
        task_status.started()
        async for event in events:
            match event:
                case Event(path=path, msg=TurnStarted()):
                    print(f"{path.name}: begins")
                case Event(path=path, msg=AgentMessageRecorded(message)):
                    print(f"{path.name}: {message}")
                case Event(path=path, msg=WarningRaised(message)):
                    print(f"{path.name}: warning: {message}")
                case _:
                    pass


async def main(cwd: str, *, real: bool) -> None:
    overrides = ["sandbox_mode=danger-full-access"]  # the only tool here reads a file
    if not real:  # a provider that needs no key, since it is never asked
        overrides += ["model_provider=none", "model_providers.none.base_url=http://localhost"]
    loaded = codex_actors.load_settings(
        home=codex_actors.find_home(os.environ), environ=os.environ, cwd=cwd, overrides=overrides
    )
    async with (
        trio.open_nursery() as nursery,
        codex_actors.open_agents(
            loaded.settings, model=None if real else SCRIPT, toolbox=Ledger().tools
        ) as tree,
    ):
        await nursery.start(tell, tree)
        root = await tree.spawn()
        worker = await root.spawn(AgentSpec(name="worker", instructions=WORKER))
        reviewer = await root.spawn(AgentSpec(name="reviewer", instructions=REVIEWER))
        await worker.assign("What does invoices.csv come to?", reply_to=reviewer)
        await reviewer.status.wait_value(lambda status: isinstance(status, Completed | Errored))
    # The tree has ended, and everything it told is printed. The turn that crashed counts, too.
    for agent in (root, worker, reviewer):
        print(f"{agent.path}: {agent.spent.turns} turns, {agent.spent.tokens} tokens")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "invoices.csv").write_text(INVOICES, "utf-8")
        trio.run(lambda: main(folder, real="--real" in sys.argv))
