"""The tool that runs commands."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Final, final

import attrs
import trio

from .._errors import CodexActorsError
from ..core import CommandWish, Refusal, find_shell_patch, format_rejected
from ..protocol import ToolCall, ToolOutput
from ..sandbox import ProcessSpec
from ._arguments import function_tool
from ._attempts import attempt_command
from ._escalation import WORDS, Escalation, forbids, read_escalation, why_none
from ._limits import absolute, leads_to
from ._patching import run_patch
from ._permission_arguments import Permissions
from ._reporting import AS_NUMBER, LEAST_WAIT, MOST_WAIT, Limit, between, not_negative, report
from ._tool import Tool, ToolContext, answer, refuse

_START_WAIT: Final = 10_000
"""Milliseconds; the reference's number."""

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


@attrs.frozen(kw_only=True)
class _Exec:
    cmd: Annotated[str, "The command line, for the shell."]
    workdir: Annotated[str | None, "Directory to run it in, if not the working directory."] = None
    shell: Annotated[str | None, "Another shell, as a path or a name."] = None
    login: Annotated[bool | None, "False: do not read the login profile first."] = None
    tty: Annotated[bool, "True: give it a terminal, so that write_stdin can type."] = False
    yield_time_ms: Annotated[
        int | None,
        "Milliseconds to wait for its end, 250 to 30000; 10000 if not given. It runs on after"
        " that, as a session.",
        AS_NUMBER,
    ] = attrs.field(default=None, validator=not_negative)
    max_output_tokens: Limit = attrs.field(default=None, validator=not_negative)
    sandbox_permissions: Annotated[
        str | None,
        "`require_escalated` asks to run outside the sandbox.",
        ("enum", ("use_default", "require_escalated")),
    ] = None
    justification: Annotated[
        str | None, "With `require_escalated`: the question to the user, in one sentence."
    ] = None
    prefix_rule: Annotated[
        tuple[str, ...] | None,
        "With `require_escalated`: the first words of commands that may run like this one.",
    ] = None
    additional_permissions: Annotated[
        Permissions | None, "What the command needs beyond what the sandbox allows."
    ] = None


@final
@attrs.frozen(kw_only=True)
class _ExecMore(_Exec):
    sandbox_permissions: Annotated[
        str | None,
        "`require_escalated` asks to run outside the sandbox; `with_additional_permissions` asks"
        " for what `additional_permissions` says.",
        ("enum", WORDS),
    ] = None


async def _exec_command(args: _Exec, call: ToolCall, context: ToolContext) -> ToolOutput:
    spec = _spec(args, call, context)
    wished = await read_escalation(args.sandbox_permissions, args.additional_permissions, spec.cwd)
    refusal = _why_not(args, context) or (
        why_none(args.sandbox_permissions, wished, context)
        if isinstance(wished, str)
        else forbids(wished, context)
    )
    if refusal is not None or isinstance(wished, str):
        await trio.lowlevel.checkpoint()
        return refuse(call, refusal or "")
    patch = find_shell_patch(spec.argv)
    if patch is not None:
        where = absolute(patch.directory or "", spec.cwd)
        return await _patch(patch.patch, where, call, context)
    own, there = await trio.to_thread.run_sync(_lead, context.settings.cwd, spec.cwd)
    # A yes to it is no yes to where a link leads later.
    spec = attrs.evolve(spec, cwd=there)
    try:
        wish = _wish(args, wished, spec, call, own)
        done = await attempt_command(wish, spec, _start_wait(args), context)
    except CodexActorsError as error:
        return refuse(call, f"exec_command failed: {error}")
    if isinstance(done, Refusal):
        return refuse(call, format_rejected(done.reason))
    limit = args.max_output_tokens
    return report(done.session, call, context, began=done.began_at, limit=limit)


def _why_not(args: _Exec, context: ToolContext) -> str | None:
    if args.cmd.lstrip().startswith("*** Begin Patch"):
        return (
            "exec_command failed: this is a patch, not a command; give it to apply_patch, as"
            " in apply_patch <<'EOF'"
        )
    if args.login and not context.settings.allow_login_shell:
        return (
            "exec_command failed: the configuration allows no login shell; leave `login` out,"
            " or set it to false"
        )
    return None


def _spec(args: _Exec, call: ToolCall, context: ToolContext) -> ProcessSpec:
    settings = context.settings
    login = settings.allow_login_shell if args.login is None else args.login
    ids = {"CODEX_THREAD_ID": context.thread_id, "CODEX_TOOL_CALL_ID": call.call_id}
    return ProcessSpec(
        argv=(args.shell or settings.shell, "-lc" if login else "-c", args.cmd),
        cwd=absolute(args.workdir or "", settings.cwd),
        env={**settings.environment, **_QUIET, **ids},
        tty=args.tty,
    )


def _lead(own: str, there: str) -> tuple[str, str]:
    return leads_to(own), leads_to(there)


def _wish(
    args: _Exec, wished: Escalation, spec: ProcessSpec, call: ToolCall, own: str
) -> CommandWish:
    return CommandWish(
        call_id=call.call_id,
        argv=spec.argv,
        cwd=spec.cwd,
        is_elsewhere=spec.cwd != own,
        # The id of the call is no part of what it does.
        env={name: value for name, value in spec.env.items() if name != "CODEX_TOOL_CALL_ID"},
        tty=spec.tty,
        wants=wished.wants,
        extra=wished.extra,
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
    return between(asked, LEAST_WAIT, MOST_WAIT)


@cache
def exec_command(*, login: bool = True, more: bool = False) -> Tool:
    """Return the tool that runs commands.

    Args:
        login: Whether models are told that there is a login shell.
        more: Whether commands may ask for single permissions.
    """
    arguments = _ExecMore if more else _Exec
    told = {"login": login, "additional_permissions": more}
    return function_tool(
        name="exec_command",
        description="Runs a shell command, and returns its output, or a session ID if it is still"
        " running when the time is over.",
        arguments=arguments,
        hidden=[name for name, shown in told.items() if not shown],
        run=_exec_command,
        gate="shared",
        cut_off="timed",
        changes_files=True,
    )


EXEC_COMMAND: Final[Tool] = exec_command()
