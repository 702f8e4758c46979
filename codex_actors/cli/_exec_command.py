"""`codex-actors exec`, from its words to its exit status."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import trio

from ..agents import check_sandbox
from ..config import Loaded
from ..rollout import find_latest
from ._ask_whom import asker, without_asking
from ._config_flags import find_directory, load
from ._errors import UsageError
from ._exec_parser import ExecOptions, parse
from ._exec_run import Job, run_exec
from ._human import clean
from ._local_model import with_local_server
from ._log import open_log
from ._shower import log_line, open_shower


def exec_command(argv: Sequence[str]) -> int:
    """Run one agent to the end of its task, and return the exit status.

    Raises:
        CodexActorsError: if it could not begin.
        SystemExit: if the words are wrong, or ask for help.
    """
    options = parse(argv)
    cwd = find_directory(options.config)
    loaded = _load(options, cwd)
    check_sandbox(loaded.settings.sandbox_policy)
    _check_repository(options, cwd)
    _check_files(options)
    shower = open_shower(options)
    job = Job(
        options=options,
        loaded=loaded,
        prompt=_prompt(options),
        resume=_thread(options, loaded, cwd),
        schema=_schema(options),
        show=shower.show,
        show_below=shower.show_below,
        show_total=shower.show_total,
        draw=shower.draw,
        ask=asker(loaded, shower.stage),
    )
    with open_log(options.log_level, loaded.settings, os.environ):
        status, message = trio.run(run_exec, job)
    _hand_over(options, message)
    return status


def _load(options: ExecOptions, cwd: str) -> Loaded:
    loaded = load(with_local_server(options.config, os.environ), cwd, os.environ)
    settings = attrs.evolve(loaded.settings, ephemeral=options.ephemeral)
    return without_asking(attrs.evolve(loaded, settings=settings), options)


def _check_files(options: ExecOptions) -> None:
    """Find out before the turn is paid for whether its files are there."""
    for path in options.images:
        if not os.path.isfile(path):
            raise UsageError(f"there is no picture {path!r}; give the path of a file with -i")
    if options.output_last_message is not None:
        try:
            with open(options.output_last_message, "a", encoding="utf-8"):
                pass
        except OSError as exc:
            raise UsageError(
                f"{exc.filename!r} cannot be written: {exc.strerror}; give another file with -o"
            ) from exc


def _check_repository(options: ExecOptions, cwd: str) -> None:
    here = cwd
    while not options.skip_git_repo_check and not os.path.exists(os.path.join(here, ".git")):
        here, below = os.path.dirname(here), here
        if here == below:
            raise UsageError(
                f"{cwd!r} is in no git repository, so changes could not be undone; work in one,"
                " or add --skip-git-repo-check"
            )


def _prompt(options: ExecOptions) -> str:
    piped = _read_stdin(options)
    prompt = piped if options.prompt is None else options.prompt
    if options.prompt is not None and piped.strip():
        prompt = f"{prompt}\n\n<stdin>\n{piped}\n</stdin>"
    if not prompt.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    return prompt


def _read_stdin(options: ExecOptions) -> str:
    if sys.stdin is None or sys.stdin.closed:
        return ""
    if sys.stdin.isatty():
        if options.prompt is not None:
            return ""
        log_line("Type the prompt, and end it with Ctrl-D.")
    elif options.prompt is not None:
        log_line("Reading additional input from stdin...")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _thread(options: ExecOptions, loaded: Loaded, cwd: str) -> str | None:
    if not options.resume_last:
        return options.resume
    thread = find_latest(loaded.settings.home, cwd=None if options.everywhere else cwd)
    if thread is None:
        raise UsageError(
            "there is no thread to resume"
            + ("" if options.everywhere else f" that began in {cwd!r}; --all looks everywhere")
        )
    return thread


def _schema(options: ExecOptions) -> Any:
    if options.output_schema is None:
        return None
    try:
        with open(options.output_schema, encoding="utf-8") as file:
            schema = json.load(file)
    except (OSError, ValueError, RecursionError) as exc:
        raise UsageError(
            f"{options.output_schema!r} is no JSON schema that can be read: {exc}"
        ) from exc
    if not isinstance(schema, dict):
        raise UsageError(f"{options.output_schema!r} holds no JSON schema; write an object")
    return schema


def _hand_over(options: ExecOptions, message: str | None) -> None:
    """Give the last message to whoever wants it."""
    both_seen = sys.stdout.isatty() and sys.stderr.isatty()
    if message is not None and not options.json and not both_seen:
        print("\n".join(map(clean, message.split("\n"))) if sys.stdout.isatty() else message)
    if options.output_last_message is not None:
        with open(options.output_last_message, "w", encoding="utf-8") as file:
            file.write(message or "")
