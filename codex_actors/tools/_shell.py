"""The tools that run commands and talk to those that run."""

from __future__ import annotations

from typing import Annotated, Final, Literal, final

import attrs
import trio

from .._errors import CodexActorsError
from ..core import (
    NO_EXTRA,
    CommandWish,
    Refusal,
    Wants,
    find_shell_patch,
    format_rejected,
    format_truncated,
    refuse_escalation,
    tokens_of_bytes,
)
from ..protocol import TerminalInteracted, ToolCall, ToolOutput
from ..sandbox import ProcessEnded, ProcessSpec
from ._arguments import function_tool
from ._attempts import attempt_command
from ._limits import absolute, output_limit
from ._patching import run_patch
from ._permission_arguments import Permissions
from ._session import Session
from ._tool import Tool, ToolContext, answer, refuse

# Waiting times are the reference's, in milliseconds.
_START_WAIT: Final = 10_000
_WRITE_WAIT: Final = 250
_LEAST_WAIT: Final = 250
_MOST_WAIT: Final = 30_000
_LEAST_LOOK: Final = 5_000
_MOST_LOOK: Final = 300_000

CTRL_C: Final = "\x03"

_QUIET: Final = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "CODEX_CI": "1",
}
"""Makes programs print plain text in English, and wait for nobody; the same as Codex's."""

_not_negative = attrs.validators.optional(attrs.validators.ge(0))
_AS_NUMBER: Final = ("type", "number")
_Limit = Annotated[
    int | None, "Most tokens of output that you get back; 10000 if not given.", _AS_NUMBER
]


@attrs.frozen(kw_only=True)
class _Exec:
    cmd: Annotated[str, "The command line, for the shell."]
    workdir: Annotated[str | None, "Directory to run it in, if not the working directory."] = None
    shell: Annotated[str | None, "Another shell, as a path or a name."] = None
    login: Annotated[bool, "False: do not read the login profile first."] = True
    tty: Annotated[bool, "True: give it a terminal, so that write_stdin can type."] = False
    yield_time_ms: Annotated[
        int | None,
        "Milliseconds to wait for its end, 250 to 30000; 10000 if not given. It runs on after"
        " that, as a session.",
        _AS_NUMBER,
    ] = attrs.field(default=None, validator=_not_negative)
    max_output_tokens: _Limit = attrs.field(default=None, validator=_not_negative)
    sandbox_permissions: Annotated[
        Literal["use_default", "require_escalated"] | None,
        "`require_escalated` asks to run outside the sandbox.",
    ] = None
    justification: Annotated[
        str | None, "With `require_escalated`: the question to the user, in one sentence."
    ] = None
    prefix_rule: Annotated[
        tuple[str, ...] | None,
        "With `require_escalated`: the first words of commands that may run like this one.",
    ] = None


@final
@attrs.frozen(kw_only=True)
class _ExecMore(_Exec):
    # mypy: what a word more would spoil for who writes it is no matter, for nobody does.
    sandbox_permissions: Annotated[
        Literal["use_default", "with_additional_permissions", "require_escalated"] | None,
        "`require_escalated` asks to run outside the sandbox; `with_additional_permissions` asks"
        " for what `additional_permissions` says.",
    ] = None  # type: ignore[assignment]
    additional_permissions: Annotated[
        Permissions | None, "What the command needs beyond what the sandbox allows."
    ] = None


_WANTS: Final[dict[str | None, Wants]] = {
    None: "default",
    "use_default": "default",
    "require_escalated": "unconfined",
    "with_additional_permissions": "extra",
}


@final
@attrs.frozen(kw_only=True)
class _Write:
    session_id: Annotated[int, "The number of a running session.", _AS_NUMBER]
    chars: Annotated[str, "What to type; empty, or not given: only look at it."] = ""
    yield_time_ms: Annotated[
        int | None,
        "Milliseconds to wait: after typing up to 30000, 250 if not given; for a look 5000 to"
        " 300000.",
        _AS_NUMBER,
    ] = attrs.field(default=None, validator=_not_negative)
    max_output_tokens: _Limit = attrs.field(default=None, validator=_not_negative)


# --- exec_command -----------------------------------------------------------


async def _exec_command(args: _Exec, call: ToolCall, context: ToolContext) -> ToolOutput:
    refusal = _why_not(args, context)
    if refusal is not None:
        await trio.lowlevel.checkpoint()
        return refuse(call, refusal)
    spec = _spec(args, call, context)
    patch = find_shell_patch(spec.argv)
    if patch is not None:
        where = absolute(patch.directory or "", spec.cwd)
        return await _patch(patch.patch, where, call, context)
    try:
        wish = _wish(args, spec, call)
        done = await attempt_command(wish, spec, _start_wait(args), context)
    except CodexActorsError as error:
        return refuse(call, f"exec_command failed: {error}")
    if isinstance(done, Refusal):
        return refuse(call, format_rejected(done.reason))
    limit = args.max_output_tokens
    return _report(done.session, call, context, began=done.began_at, limit=limit)


def _why_not(args: _Exec, context: ToolContext) -> str | None:
    if args.cmd.lstrip().startswith("*** Begin Patch"):
        return (
            "exec_command failed: this is a patch, not a command; give it to apply_patch, as"
            " in apply_patch <<'EOF'"
        )
    if _WANTS[args.sandbox_permissions] == "default":
        return None
    return refuse_escalation(context.settings.approval_policy)


def _spec(args: _Exec, call: ToolCall, context: ToolContext) -> ProcessSpec:
    settings = context.settings
    ids = {"CODEX_THREAD_ID": context.thread_id, "CODEX_TOOL_CALL_ID": call.call_id}
    return ProcessSpec(
        argv=(args.shell or settings.shell, "-lc" if args.login else "-c", args.cmd),
        cwd=absolute(args.workdir or "", settings.cwd),
        env={**settings.environment, **_QUIET, **ids},
        tty=args.tty,
    )


def _wish(args: _Exec, spec: ProcessSpec, call: ToolCall) -> CommandWish:
    more = args.additional_permissions if isinstance(args, _ExecMore) else None
    return CommandWish(
        call_id=call.call_id,
        argv=spec.argv,
        cwd=spec.cwd,
        # The id of the call is no part of what it does.
        env={name: value for name, value in spec.env.items() if name != "CODEX_TOOL_CALL_ID"},
        tty=spec.tty,
        wants=_WANTS[args.sandbox_permissions],
        extra=NO_EXTRA if more is None else more.resolve(spec.cwd),
        justification=args.justification,
        prefix=args.prefix_rule,
    )


async def _patch(text: str, cwd: str, call: ToolCall, context: ToolContext) -> ToolOutput:
    began = trio.current_time()
    patched = await run_patch(text, cwd, call.call_id, context)
    if not patched.ok:
        return refuse(call, patched.text)
    seconds = trio.current_time() - began
    return answer(call, f"Wall time: {seconds:.4f} seconds\nOutput:\n{patched.text}")


def _start_wait(args: _Exec) -> float:
    asked = _START_WAIT if args.yield_time_ms is None else args.yield_time_ms
    return _between(asked, _LEAST_WAIT, _MOST_WAIT)


# --- write_stdin ------------------------------------------------------------


async def _write_stdin(args: _Write, call: ToolCall, context: ToolContext) -> ToolOutput:
    began = trio.current_time()
    session = context.sessions.get(args.session_id)
    if session is None:
        await trio.lowlevel.checkpoint()
        return refuse(
            call,
            f"write_stdin failed: no command runs as session {args.session_id}; start it with"
            " exec_command",
        )
    with session.in_use():
        refusal = await _type_and_wait(session, args.chars, _write_wait(args), context)
    if refusal is not None:
        return refuse(call, f"write_stdin failed: {refusal}")
    return _report(session, call, context, began=began, limit=args.max_output_tokens)


def _write_wait(args: _Write) -> float:
    if not args.chars:
        return _between(args.yield_time_ms or 0, _LEAST_LOOK, _MOST_LOOK)
    asked = _WRITE_WAIT if args.yield_time_ms is None else args.yield_time_ms
    return _between(asked, _LEAST_WAIT, _MOST_WAIT)


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


# --- both -------------------------------------------------------------------


def _between(asked: int, least: int, most: int) -> float:
    """Milliseconds within limits, as seconds."""
    return min(max(asked, least), most) / 1000


def _report(
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


def _make_exec(arguments: type[_Exec]) -> Tool:
    return function_tool(
        name="exec_command",
        description="Runs a shell command, and returns its output, or a session ID if it is still"
        " running when the time is over.",
        arguments=arguments,
        run=_exec_command,
        gate="shared",
        cut_off="timed",
        changes_files=True,
    )


EXEC_COMMAND: Final[Tool] = _make_exec(_Exec)

EXEC_WITH_MORE: Final[Tool] = _make_exec(_ExecMore)
"""The same, where commands may ask for single permissions."""

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
