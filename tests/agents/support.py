"""What tests of agents share: settings, tools, and a model that remembers its prompts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from codex_actors.agents import AgentServices, AgentTree, open_agents
from codex_actors.core import ExecRules
from codex_actors.models import ModelClient, Prompt, ScriptedModel
from codex_actors.protocol import (
    DangerFullAccess,
    Event,
    EventMsg,
    Item,
    ModelEvent,
    ModelInfo,
    Provider,
    Settings,
    ToolCall,
    ToolOutput,
)
from codex_actors.tools import Tool, Toolbox, ToolContext, answer
from codex_actors.wire import decode_item_json

KNOWN = ModelInfo(slug="known", context_window=1000)
OTHER = ModelInfo(slug="other", context_window=2000)


def settings(home: Path, **changes: Any) -> Settings:
    plain = Settings(
        model=KNOWN,
        provider=Provider(id="test", stream_max_retries=2),
        cwd="/tmp",
        home=str(home),
        sandbox_policy=DangerFullAccess(),
        models={"known": KNOWN, "other": OTHER},
        # A jumping clock does not wait for the threads that write to a disk.
        ephemeral=True,
    )
    return attrs.evolve(plain, **changes)


@attrs.define(eq=False)
class Remembering:
    """Passes prompts on to another client, and keeps them."""

    inner: ModelClient
    prompts: list[Prompt] = attrs.field(factory=list)

    def stream(
        self, prompt: Prompt
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[ModelEvent]]:
        # The history goes on growing; what was sent is what it is now.
        self.prompts.append(attrs.evolve(prompt, input=tuple(prompt.input)))
        return self.inner.stream(prompt)

    def items(self, number: int) -> list[Item]:
        """The items of a request, without the base instructions."""
        return [decode_item_json(item) for item in self.prompts[number].input][1:]


def remember(*steps: Any) -> Remembering:
    return Remembering(ScriptedModel(*steps))


async def say_hi(call: ToolCall, context: ToolContext) -> ToolOutput:
    await trio.lowlevel.checkpoint()
    return answer(call, "hi")


async def take_ten_minutes(call: ToolCall, context: ToolContext) -> ToolOutput:
    await trio.sleep(600)
    return answer(call, "at last")


async def break_down(call: ToolCall, context: ToolContext) -> ToolOutput:
    await trio.lowlevel.checkpoint()
    raise RuntimeError("boom")


async def be_stubborn(call: ToolCall, context: ToolContext) -> ToolOutput:
    with trio.CancelScope(shield=True):
        await trio.sleep(60)
    return answer(call, "I was not to be stopped")


def tool(name: str, run: Any, **more: Any) -> Tool:
    return Tool(name=name, description="", parameters={"type": "object"}, run=run, **more)


def toolbox(_: Settings) -> Toolbox:
    return Toolbox(
        [
            tool("hi", say_hi, gate="shared"),
            tool("slow", take_ten_minutes, gate="shared"),
            tool("slow_command", take_ten_minutes, cut_off="timed"),
            tool("serial", take_ten_minutes),
            tool("broken", break_down),
            tool("stubborn", be_stubborn),
        ]
    )


async def no_rules(_: str) -> ExecRules:
    """No rules about commands, without a look at the disk: that takes a thread."""
    await trio.lowlevel.checkpoint()
    return ExecRules()


@asynccontextmanager
async def open_tree(
    home: Path, model: ModelClient, **changes: Any
) -> AsyncGenerator[AgentTree, None]:
    services = AgentServices(model=model, toolbox=toolbox, load_rules=no_rules)
    async with open_agents(settings(home, **changes), services=services) as tree:
        yield tree


async def collect(
    events: AbstractAsyncContextManager[trio.abc.ReceiveChannel[Event]],
) -> list[EventMsg]:
    async with events as channel:
        return [event.msg async for event in channel]


def names(msgs: Sequence[EventMsg]) -> list[str]:
    return [type(msg).__name__ for msg in msgs]
