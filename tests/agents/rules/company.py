"""What the tests of the rules share: a tree, and a tool that does whatever a test has in mind."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import attrs
import trio

from codex_actors.actors import Lagged, Watch
from codex_actors.agents import AgentHandle, AgentServices, AgentSpec, AgentTree, Task, open_agents
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    AgentStatus,
    Event,
    EventMsg,
    Message,
    Settings,
    TaskCompleted,
    TaskOutcome,
    ToolCall,
    ToolOutput,
)
from codex_actors.rollout import open_journal
from codex_actors.tools import Toolbox, ToolContext, answer
from tests.agents.support import Remembering, no_rules, settings, tool

Deed: TypeAlias = Callable[[AgentHandle], Awaitable[object]]
"""What an agent does when its model calls for it; it is given the agent's own handle."""

PATIENCE = 10_000.0
"""Seconds of a jumping clock after which a test says that something hangs."""


def script(*steps: Sequence[Mapping[str, Any]]) -> str:
    """Words of a task that say what the model answers to it."""
    return f"SCRIPT {json.dumps([list(step) for step in steps])}"


def do(*deeds: str) -> list[dict[str, Any]]:
    """A step of a script: calls of the tool that does these things."""
    return [{"call": "do", "args": {"what": what}} for what in deeds]


def say(text: str) -> list[dict[str, Any]]:
    """A step of a script that ends the turn with these words."""
    return [{"say": text}]


def doing(*deeds: str) -> str:
    """A task: do these things, one after another, and say that they are done."""
    return script(*map(do, deeds), say("done"))


@attrs.define(eq=False)
class Company:
    """A tree with its root, and what tests know and hold of it."""

    tree: AgentTree
    root: AgentHandle
    model: Remembering
    deeds: dict[str, Deed]
    told: list[Event]
    after_crash: Callable[[], Awaitable[object]] = trio.sleep_forever
    """What the tool goes on with that has crashed its agent, in the same step."""

    def texts(self, agent: AgentHandle, number: int = -1) -> list[str]:
        """All messages in a request of an agent, by default its last."""
        mine = [n for n, p in enumerate(self.model.prompts) if p.thread_id == agent.thread_id]
        return [i.text for i in self.model.items(mine[number]) if isinstance(i, Message)]

    def outputs(self, agent: AgentHandle, number: int = -1) -> list[str]:
        """All outputs of tools in a request of an agent, by default its last."""
        mine = [n for n, p in enumerate(self.model.prompts) if p.thread_id == agent.thread_id]
        return [i.text for i in self.model.items(mine[number]) if isinstance(i, ToolOutput)]

    def requests(self, agent: AgentHandle) -> int:
        """How often an agent has asked its model."""
        return sum(p.thread_id == agent.thread_id for p in self.model.prompts)

    def events(self, agent: AgentHandle, kind: type[EventMsg] | None = None) -> list[EventMsg]:
        """What an agent has told so far."""
        msgs = [e.msg for e in self.told if e.thread_id == agent.thread_id]
        return [m for m in msgs if kind is None or isinstance(m, kind)]


@attrs.define(eq=False)
class Post:
    """A place where deeds wait until a test lets them go on."""

    reached: trio.Event = attrs.field(factory=trio.Event)
    let_go: trio.Event = attrs.field(factory=trio.Event)
    visits: int = 0

    async def __call__(self, me: AgentHandle) -> str:
        self.visits += 1
        self.reached.set()
        await self.let_go.wait()
        return "went on"


async def crash(me: AgentHandle) -> object:
    """Crash the agent in the middle of its turn: what the tool tells is no event."""
    return CRASH


CRASH: Any = object()


async def sleep_long(me: AgentHandle) -> str:
    await trio.sleep(600)
    return "at last"


def once(deed: Deed) -> Deed:
    """A deed that is done the first time only."""
    done: list[bool] = []

    async def do_once(me: AgentHandle) -> object:
        if done:
            return "not again"
        done.append(True)
        return await deed(me)

    return do_once


async def be_deaf(me: AgentHandle) -> str:
    with trio.CancelScope(shield=True):
        await trio.sleep(60)
    return "I was not to be stopped"


@asynccontextmanager
async def open_company(
    home: Path,
    deeds: Mapping[str, Deed] = {},
    *,
    spec: AgentSpec = AgentSpec(),
    model: Any = None,
    toolbox: Callable[[Settings], Toolbox] | None = None,
    **changes: Any,
) -> AsyncGenerator[Company, None]:
    """Open a tree whose agents do what their tasks say."""
    known: dict[str, Deed] = {"crash": crash, "sleep": sleep_long, "be_deaf": be_deaf, **deeds}
    company: Company | None = None

    async def run(call: ToolCall, context: ToolContext) -> ToolOutput:
        assert company is not None
        deed = known[json.loads(call.arguments)["what"]]
        said = await deed(company.tree.agent(context.thread_id))
        if said is CRASH:
            context.announce(cast(Any, _Unspeakable()))
            await company.after_crash()
        return answer(call, str(said))

    tools = [tool("do", run, gate="free")]
    make = toolbox or (lambda _: Toolbox(tools))
    remembering = Remembering(model or ScriptedModel())
    services = AgentServices(model=remembering, toolbox=make, load_rules=no_rules)
    opening = open_agents(settings(home, **changes), services=services)
    async with trio.open_nursery() as ears, opening as tree:
        told: list[Event] = []
        await ears.start(_listen, tree, told)
        root = await tree.spawn(spec)
        company = Company(tree, root, remembering, known, told)
        yield company


async def _listen(
    tree: AgentTree, told: list[Event], *, task_status: trio.TaskStatus[None]
) -> None:
    async with tree.events(max_buffer_size=10_000) as events:
        task_status.started()
        async for event in events:
            assert not isinstance(event, Lagged)
            told.append(event)


class _Unspeakable:
    """Crashes whoever asks what it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("poison")


async def child_of(owner: AgentHandle, name: str, **more: Any) -> AgentHandle:
    return await owner.spawn(AgentSpec(name=name, **more))


async def outcome(task: Task) -> TaskOutcome | None:
    """How a task ends; a test that waits for ever fails."""
    with trio.fail_after(PATIENCE):
        return (await task.wait()).outcome


async def run(agent: AgentHandle, work: str, **more: Any) -> TaskOutcome | None:
    """Give an agent a task, and wait for its end."""
    return await outcome(await agent.assign(work, **more))


async def until_status(agent: AgentHandle, wanted: AgentStatus | type) -> None:
    def is_it(status: AgentStatus) -> bool:
        return status == wanted or (isinstance(wanted, type) and isinstance(status, wanted))

    watch: Watch[AgentStatus] = agent.status
    with trio.fail_after(PATIENCE):
        await watch.wait_value(is_it)


DONE = TaskCompleted("done")


@asynccontextmanager
async def journal_of(home: Path, root: AgentHandle) -> AsyncGenerator[Any, None]:
    """What the disk knows of a tree that has ended."""
    async with open_journal(str(home), root.thread_id) as journal:
        yield journal.state
