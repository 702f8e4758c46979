"""Who may do what: a rule of the program decides what it can, and a person decides the rest.

A lead has two workers. What they want to do outside of the sandbox is asked; all questions of the
tree are in one place, with the name of who asks.

    python examples/approvals.py            a script plays the model, and you are the person
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import trio

import codex_actors
from codex_actors.agents import AgentHandle, AgentSpec, AgentTree
from codex_actors.approvals import NotAsked, PolicyApprover
from codex_actors.models import ScriptView
from codex_actors.protocol import (
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    Denied,
    ModelInfo,
    Provider,
    ReadOnly,
    RunCommand,
    Settings,
    TaskCompleted,
)

COMMANDS = {
    "Look at the tide.": ["echo the tide is in", "rm chart.txt"],
    "Weigh the anchor.": ["echo up > anchor.txt; cat anchor.txt"],
}


def decide_by_rule(request: ApprovalRequest) -> ApprovalDecision | None:
    """Answer what a program can answer; None leaves it to a person."""
    line = line_of(request)
    if ">" in line:
        return None
    if line.startswith("echo "):
        return Approved()
    return Denied("nothing is removed on this ship")


def line_of(request: ApprovalRequest) -> str:
    """Return the line that an agent gave to its shell."""
    match request.action:
        case RunCommand(command=(_, _, line)):
            return line
        case action:
            return str(action)


async def be_the_person(tree: AgentTree) -> None:
    """Put each question to whoever sits at the terminal."""
    while True:
        question = (await tree.questions.wait_value(bool))[0]
        print(f"{question.agent} asks to run: {line_of(question)}", flush=True)
        said = await trio.to_thread.run_sync(input, abandon_on_cancel=True)
        answer = Approved() if said.strip() == "y" else Denied()
        with suppress(NotAsked):  # its time may be over by now
            tree.answer(question.id, answer)


async def send_out(worker: AgentHandle, order: str) -> None:
    """Give a worker its orders, and print what became of them."""
    record = await (await worker.assign(order)).wait()
    said = record.outcome.message if isinstance(record.outcome, TaskCompleted) else record.outcome
    print(f"{worker.path}: {said}", flush=True)


def act(view: ScriptView) -> list[Mapping[str, Any]]:
    """Play the model: run the commands of an order one after the other, then report."""
    commands = COMMANDS[view.user_text]
    done = len(view.outputs)
    if done == len(commands):
        return [{"say": "; ".join(text.strip().splitlines()[-1] for text in view.outputs.values())}]
    wish = {"cmd": commands[done], "login": False, "sandbox_permissions": "require_escalated"}
    return [{"call": "exec_command", "args": wish}]


def settings() -> Settings:
    """Return settings under which somebody is asked before anything leaves the sandbox."""
    return Settings(
        model=ModelInfo(slug="scripted"),
        provider=Provider(id="scripted"),
        cwd=os.getcwd(),
        home=codex_actors.find_home(os.environ),
        sandbox_policy=ReadOnly(),
        approval_policy="on-request",
        environment={"PATH": os.environ["PATH"]},
        ephemeral=True,
    )


async def main() -> None:
    """Sail."""
    approver = PolicyApprover(rule=decide_by_rule)
    model = codex_actors.ScriptedModel(act, act, act, act, act)
    async with (
        codex_actors.open_agents(settings(), model=model, approver=approver) as tree,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(be_the_person, tree)
        lead = await tree.spawn()
        scout = await lead.spawn(AgentSpec(name="scout"))
        pilot = await lead.spawn(AgentSpec(name="pilot"))
        await send_out(scout, "Look at the tide.")
        await send_out(pilot, "Weigh the anchor.")
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
