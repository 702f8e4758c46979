"""The program's outermost edge: arguments in, exit status out."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Final

from .._errors import CodexActorsError
from ._commands import run_command

# Trees of agents are made of long-lived objects in cycles; looking for garbage among them
# costs half of all creation and cancellation time. Young garbage is still found.
_GC_THRESHOLDS: Final = (500_000, 10, 1000)


def main(argv: list[str] | None = None) -> None:
    """Run the program `codex-actors`, and exit."""
    gc.set_threshold(*_GC_THRESHOLDS)
    _let_all_characters_pass()
    try:
        status = run_command(sys.argv[1:] if argv is None else argv)
    except Exception as exc:  # noqa: BLE001 - the outermost edge: what is ours is said in one line
        status = _report(exc)
    except KeyboardInterrupt:
        status = 130
    _leave(status)


def _let_all_characters_pass() -> None:
    """A character that a terminal cannot show is no reason to stop an agent."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _leave(status: int) -> None:
    """Exit; a reader of our output that has gone away is no error of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _report(exc: BaseException) -> int:
    while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    if isinstance(exc, BrokenPipeError):
        return 1  # who read our output has had enough of it
    if isinstance(exc, CodexActorsError | OSError):
        print(f"error: {exc}", file=sys.stderr)
        return 1
    raise exc
