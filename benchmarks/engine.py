"""The engine, through its public names, with its rollout on in a home of its own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import final

import attrs
import trio

from codex_actors import (
    AgentHandle,
    Settings,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolOutput,
    open_agents,
)
from codex_actors.models import ModelClient, Prompt
from codex_actors.protocol import DangerFullAccess, ModelEvent, ModelInfo, Provider, TaskCompleted


async def _ping(call: ToolCall, _: ToolContext) -> ToolOutput:
    await trio.lowlevel.checkpoint()
    return ToolOutput(call_id=call.call_id, output="pong", kind=call.kind)


PING = Tool(
    name="ping",
    description="Answers pong.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}},
    run=_ping,
)


def provider(base_url: str, path: str) -> Provider:
    """The model at ``path`` of the server."""
    return Provider(id="bench", base_url=f"{base_url}/{path}/v1")


@final
@attrs.define(eq=False)
class Stopwatch:
    """A model client that passes everything on, and notes how long a step takes."""

    _inner: ModelClient
    seconds: float = 0.0
    """From the asking to the last event of the answer, the last time."""

    @asynccontextmanager
    async def stream(
        self, prompt: Prompt
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[ModelEvent], None]:
        began = time.perf_counter()
        async with self._inner.stream(prompt) as events:
            yield events
            self.seconds = time.perf_counter() - began


@asynccontextmanager
async def open_agent(
    source: Provider, model: ModelClient | None = None
) -> AsyncGenerator[AgentHandle, None]:
    """Open a tree of one agent, with a home of its own, and the rollout on."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        settings = Settings(
            model=ModelInfo(slug="bench"),
            provider=source,
            cwd=home,
            home=home,
            sandbox_policy=DangerFullAccess(),
        )
        tools = Toolbox([PING])
        async with open_agents(settings, model=model, toolbox=lambda _: tools) as tree:
            yield await tree.spawn()


async def run_turn(agent: AgentHandle) -> None:
    """Give the agent a task, and wait for its end."""
    record = await (await agent.assign("Are the tests well?")).wait()
    assert isinstance(record.outcome, TaskCompleted), record
