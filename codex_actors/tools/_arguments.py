"""Tools that take JSON arguments, from an attrs class and a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Literal, TypeVar

import trio

from ..core import Gate
from ..protocol import ToolCall, ToolOutput
from ..wire._arguments import BadArguments, make_arguments
from ._tool import Tool, ToolContext, refuse

T = TypeVar("T")


def function_tool(
    *,
    name: str,
    description: str,
    arguments: type[T],
    run: Callable[[T, ToolCall, ToolContext], Awaitable[ToolOutput]],
    strict: bool = False,
    hidden: Collection[str] = (),
    namespace: str | None = None,
    gate: Gate = "exclusive",
    cut_off: Literal["plain", "timed"] = "plain",
    changes_files: bool = False,
) -> Tool:
    """Return a tool that takes JSON arguments.

    Arguments that do not fit are refused in words that the model can act on; ``run`` only
    sees good ones.

    Args:
        name: How the model calls it.
        description: When to use it, and what comes back.
        arguments: An attrs class. Each field is an argument; annotate it with a sentence,
            as in ``path: Annotated[str, "Where the file is."]``.
        run: Does the work. It may be cancelled at any checkpoint.
        strict: Refuse arguments that the class does not have, instead of ignoring them.
        hidden: Arguments that are understood, but not told to the model.
        namespace: As `Tool.namespace`.
        gate: As `Tool.gate`.
        cut_off: As `Tool.cut_off`.
        changes_files: As `Tool.changes_files`.

    Raises:
        Indescribable: if a field has a type that no schema describes.
    """
    form = make_arguments(arguments, strict=strict, hidden=hidden)

    async def parse_and_run(call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            parsed = form.parse(call.arguments)
        except BadArguments as error:
            await trio.lowlevel.checkpoint()
            return refuse(call, str(error))
        return await run(parsed, call, context)

    return Tool(
        name=name,
        description=description,
        parameters=form.schema,
        namespace=namespace,
        gate=gate,
        cut_off=cut_off,
        changes_files=changes_files,
        run=parse_and_run,
    )
