"""What the tools for commands have in common: their limits, and their answers."""

from __future__ import annotations

from typing import Annotated, Final

import attrs
import trio

from ..core import format_truncated, tokens_of_bytes
from ..protocol import ToolCall, ToolOutput
from ._limits import output_limit
from ._session import Session
from ._tool import ToolContext, answer

# Waiting times are the reference's, in milliseconds.
LEAST_WAIT: Final = 250
MOST_WAIT: Final = 30_000

AS_NUMBER: Final = ("type", "number")
Limit = Annotated[
    int | None, "Most tokens of output that you get back; 10000 if not given.", AS_NUMBER
]
not_negative = attrs.validators.optional(attrs.validators.ge(0))


def between(asked: int, least: int, most: int) -> float:
    """Milliseconds within limits, as seconds."""
    return min(max(asked, least), most) / 1000


def report(
    session: Session, call: ToolCall, context: ToolContext, *, began: float, limit: int | None
) -> ToolOutput:
    captured = session.read()
    if session.ended:
        context.sessions.forget(session)
    lines = [
        f"Chunk ID: {context.sessions.new_chunk_id()}",
        f"Wall time: {trio.current_time() - began:.4f} seconds",
        _state(session),
        f"Original token count: {tokens_of_bytes(captured.size)}",
        "Output:",
        format_truncated(
            captured.text,
            output_limit(context.settings, limit),
            original_bytes=captured.size,
            omitted_bytes=captured.omitted,
        ),
    ]
    return answer(call, "\n".join(lines))


def _state(session: Session) -> str:
    if not session.ended:
        return f"Process running with session ID {session.id}"
    if session.exit_code is None:
        return "Process could not be ended"
    return f"Process exited with code {session.exit_code}"
