"""The tool that talks to commands that run."""

from __future__ import annotations

from typing import Annotated, Final, final

import attrs
import trio

from ..core import InputWish, Refusal
from ..protocol import TerminalInteracted, ToolCall, ToolOutput
from ..sandbox import ProcessEnded
from ._arguments import function_tool
from ._reporting import AS_NUMBER, LEAST_WAIT, MOST_WAIT, Limit, between, not_negative, report
from ._session import Session
from ._tool import Tool, ToolContext, refuse

# Waiting times are the reference's, in milliseconds.
_WRITE_WAIT: Final = 250
_LEAST_LOOK: Final = 5_000
_MOST_LOOK: Final = 300_000

CTRL_C: Final = "\x03"


@final
@attrs.frozen(kw_only=True)
class _Write:
    session_id: Annotated[int, "The number of a running session.", AS_NUMBER]
    chars: Annotated[str, "What to type; empty, or not given: only look at it."] = ""
    yield_time_ms: Annotated[
        int | None,
        "Milliseconds to wait: after typing up to 30000, 250 if not given; for a look 5000 to"
        " 300000.",
        AS_NUMBER,
    ] = attrs.field(default=None, validator=not_negative)
    max_output_tokens: Limit = attrs.field(default=None, validator=not_negative)


async def _write_stdin(args: _Write, call: ToolCall, context: ToolContext) -> ToolOutput:
    session = context.sessions.get(args.session_id)
    if session is None:
        await trio.lowlevel.checkpoint()
        return refuse(
            call,
            f"write_stdin failed: no command runs as session {args.session_id}; start it with"
            " exec_command",
        )
    with session.in_use():
        refused = await _may_type(session, args.chars, call, context)
        if refused is not None:
            return refuse(call, f"write_stdin rejected: {refused}")
        began = trio.current_time()
        refusal = await _type_and_wait(session, args.chars, _write_wait(args), context)
    if refusal is not None:
        return refuse(call, f"write_stdin failed: {refusal}")
    return report(session, call, context, began=began, limit=args.max_output_tokens)


async def _may_type(
    session: Session, chars: str, call: ToolCall, context: ToolContext
) -> str | None:
    """Ask whether this may be typed, if the command runs without the sandbox; return why not."""
    wanted = context.settings.features.get("write_stdin_approval", True)
    if not (chars and session.is_escalated and wanted):
        return None
    wish = InputWish(call_id=call.call_id, session_id=session.id, chars=chars, cwd=session.spec.cwd)
    permit = await context.guard.admit_input(wish)
    return permit.reason if isinstance(permit, Refusal) else None


def _write_wait(args: _Write) -> float:
    if not args.chars:
        return between(args.yield_time_ms or 0, _LEAST_LOOK, _MOST_LOOK)
    asked = _WRITE_WAIT if args.yield_time_ms is None else args.yield_time_ms
    return between(asked, LEAST_WAIT, MOST_WAIT)


async def _type_and_wait(
    session: Session, chars: str, seconds: float, context: ToolContext
) -> str | None:
    """Type, and wait for the end; return why typing was not possible."""
    typed = False
    with trio.move_on_after(seconds):
        refusal = await _type(session, chars)
        if refusal is not None:
            return refusal
        typed = True
        context.announce(
            TerminalInteracted(call_id=session.call_id, process_id=str(session.id), stdin=chars)
        )
        await session.wait_ended()
    return None if typed else f"the command has not read its input for {seconds:g} seconds"


async def _type(session: Session, chars: str) -> str | None:
    await trio.lowlevel.checkpoint()
    if not chars or session.ended:
        return None
    if not session.spec.tty:
        if chars != CTRL_C:
            return "its input is closed; start the command again with tty=true to type"
        session.process.interrupt()
        return None
    try:
        await session.process.write(chars.encode("utf-8", "replace"))
    except ProcessEnded as error:
        return str(error)
    except trio.BusyResourceError:
        return "another call is typing; wait for it"
    return None


WRITE_STDIN: Final[Tool] = function_tool(
    name="write_stdin",
    description="Types into a running session, or looks at it, and returns its output since the"
    " last time.",
    arguments=_Write,
    run=_write_stdin,
    gate="shared",
    cut_off="timed",
    changes_files=True,
)
