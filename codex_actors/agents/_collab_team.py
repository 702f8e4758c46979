"""What the tools share with which the models of a tree work together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, final

import attrs
import trio

from .._errors import CodexActorsError, InternalError
from ..protocol import Collaboration, ThreadId, ToolCall, ToolOutput
from ..tools import Tool, ToolContext, refuse
from ._collab_hiring import Hiring
from ._commons import Commons
from ._desk import Desk

T = TypeVar("T")
_SHOWN = 8


@final
@attrs.frozen(eq=False)
class Team:
    """The agents of a tree, for the tools of their models."""

    commons: Commons
    hiring: Hiring

    @property
    def collaboration(self) -> Collaboration:
        """What models may do."""
        return self.commons.settings.collaboration

    def caller(self, context: ToolContext) -> Desk:
        """Return whose model calls. Not a checkpoint."""
        return self.commons.desks[ThreadId(context.thread_id)]

    def at_work(self, caller: Desk) -> tuple[ThreadId, ...]:
        """Return who else has something to do. Not a checkpoint."""
        desks = self.commons.desks.values()
        return tuple(d.thread_id for d in desks if d is not caller and d.busy.get())

    def whom(self) -> str:
        """Say who there is, for a model that named nobody. Not a checkpoint."""
        desks = [desk for desk in self.commons.desks.values() if desk.parent is not None]
        if not desks:
            return "there is no agent but you; make one first"
        names = [f"{desk.thread_id} ({desk.spec.nickname or desk.path})" for desk in desks]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"these live: {', '.join(names[:_SHOWN])}{more}"


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
