"""How what a model asks of its tools for agents is answered: in JSON, or in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs
import trio

from .._errors import CodexActorsError, InternalError
from ..protocol import ToolCall, ToolOutput
from ..tools import Tool, ToolContext, answer, refuse
from ..wire import encode_json

T = TypeVar("T")


def guarded(
    run: Callable[[T, ToolCall, ToolContext], Awaitable[ToolOutput]],
) -> Callable[[T, ToolCall, ToolContext], Awaitable[ToolOutput]]:
    """Answer the model in words when what it asked for cannot be had.

    Our own mistakes are none of its business.
    """

    async def run_guarded(args: T, call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            return await run(args, call, context)
        except InternalError:
            raise
        except CodexActorsError as error:
            await trio.lowlevel.checkpoint()
            return refuse(call, str(error))

    return run_guarded


def with_roles(tool: Tool, description: str) -> Tool:
    """Return a spawning tool that tells of the roles, if it takes one."""
    schema = dict(tool.parameters or {})
    properties = dict(schema["properties"])
    if "agent_type" in properties:
        properties["agent_type"] = {"type": "string", "description": description}
    return attrs.evolve(tool, parameters={**schema, "properties": properties})


def as_json(call: ToolCall, value: object) -> ToolOutput:
    """Return the output of a call that went well, as compact JSON."""
    return answer(call, encode_json(value).decode())
