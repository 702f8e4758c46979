"""The words of `codex-actors exec`."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence
from typing import Final, Literal, final

import attrs

from ._config_flags import ConfigFlags, add_config_flags, read_config_flags
from ._log import LEVELS

# Words that are commands to programs written for Codex, and would be dear as prompts.
_MISSING: Final = ("fork", "review")


_LIMITS: Final = {
    "agents": "agents that may live at once, the root included",
    "tokens": "tokens that the agents may use together",
    "seconds": "seconds that turns may run",
}


@final
@attrs.frozen(kw_only=True)
class ExecOptions:
    """What `codex-actors exec` was asked to do."""

    prompt: str | None
    """None: read it from the standard input."""
    resume: str | None = None
    """Id of the thread to go on with."""
    resume_last: bool = False
    everywhere: bool = False
    """With ``resume_last``: whichever directory the thread worked in."""
    unfinished: Literal["restart", "leave"] = "leave"
    """What becomes of the tasks that the thread's tree left unfinished."""
    config: ConfigFlags = ConfigFlags()
    images: tuple[str, ...] = ()
    skip_git_repo_check: bool = False
    ephemeral: bool = False
    json: bool = False
    tree_usage: bool = False
    """With ``json``: whether a last line says what the whole tree has used."""
    output_last_message: str | None = None
    output_schema: str | None = None
    color: Literal["always", "never", "auto"] = "auto"
    log_level: str | None = None
    """None: as the environment says."""


def parse(argv: Sequence[str]) -> ExecOptions:
    """Parse what follows ``exec`` on the command line.

    Raises:
        SystemExit: after the help, or with status 2 and a message if something is wrong.
    """
    run = exec_parser()
    options, literal = _split(argv)
    given = run.parse_intermixed_args(options)
    resume, last, prompt = _words(run, given, literal)
    config = read_config_flags(given)
    return ExecOptions(
        prompt=None if prompt == "-" else prompt,
        resume=resume,
        resume_last=last,
        everywhere=given.all,
        unfinished=given.unfinished or "leave",
        config=attrs.evolve(config, overrides=(*config.overrides, *_limits(given))),
        images=tuple(path for paths in given.image for path in paths.split(",")),
        skip_git_repo_check=given.skip_git_repo_check,
        ephemeral=given.ephemeral,
        json=given.json,
        tree_usage=given.tree_usage,
        output_last_message=given.output_last_message,
        output_schema=given.output_schema,
        color=given.color,
        log_level=given.log_level,
    )


def exec_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    run = argparse.ArgumentParser(
        prog="codex-actors exec",
        description="Run one agent to the end of its task.",
        epilog="exec resume ID [PROMPT] and exec resume --last [PROMPT] go on with a thread."
        " -c approval_policy=on-request lets agents ask at the terminal.",
        allow_abbrev=False,
    )
    _add_options(run)
    return run


def _add_options(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("words", nargs="*", metavar="PROMPT", help="what to do; '-' or nothing: read stdin")
    add_config_flags(run)
    add(
        "-i",
        "--image",
        action="append",
        default=[],
        metavar="FILE",
        help="show the model a picture",
    )
    add("--last", action="store_true", help="with resume: the newest thread of this directory")
    add("--all", action="store_true", help="with --last: the newest thread of any directory")
    add(
        "--unfinished",
        choices=("restart", "leave"),
        help="with resume: what becomes of tasks that the tree left unfinished (leave)",
    )
    for name, what in _LIMITS.items():
        add(f"--max-{name}", metavar="N", type=_CHECKS.get(name, _whole), help=what)
    add("--skip-git-repo-check", action="store_true", help="work outside a git repository, too")
    add("--ephemeral", action="store_true", help="write nothing to the home directory")
    add("--json", "--experimental-json", action="store_true", help="print events as JSON lines")
    add("--tree-usage", action="store_true", help="with --json: a last line for the whole tree")
    add("-o", "--output-last-message", metavar="FILE", help="write the last message to a file")
    add("--output-schema", metavar="FILE", help="JSON schema to ask the last message to fit")
    add("--color", choices=("always", "never", "auto"), default="auto", help="colours in the log")
    add("--log-level", choices=LEVELS, help="how much goes to log/codex-actors.log")


def _whole(word: str) -> str:
    """Check a limit here, so that what is wrong with it is said of its option."""
    if not re.fullmatch(r"0*[1-9][0-9]*", word, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {word!r}")
    return word


def _seconds(word: str) -> str:
    if not re.fullmatch(r"(?=.*[1-9])[0-9]+(\.[0-9]+)?", word, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {word!r}")
    return word


_CHECKS: Final = {"seconds": _seconds}


def _limits(given: argparse.Namespace) -> list[str]:
    """Return what was said of limits, as ``-c`` has it."""
    said = {name: getattr(given, f"max_{name}") for name in _LIMITS}
    return [f"limits.{name}={value}" for name, value in said.items() if value is not None]


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what comes before the first ``--``, and after it."""
    options = list(itertools.takewhile(lambda word: word != "--", argv))
    return options, list(argv[len(options) + 1 :])


def _words(
    run: argparse.ArgumentParser, given: argparse.Namespace, literal: list[str]
) -> tuple[str | None, bool, str | None]:
    """Return which thread to resume, whether it is the last one, and the prompt."""
    command = given.words[0] if given.words else None
    if command == "resume":
        return _resumed(run, given, [*given.words[1:], *literal])
    if command in _MISSING:
        run.error(f"there is no {command!r} here; if it is the prompt: exec -- {command}")
    if given.unfinished is not None:
        run.error("--unfinished goes with resume: exec resume --unfinished restart ID [PROMPT]")
    if given.last or given.all:
        run.error("--last and --all go with resume: exec resume --last [PROMPT]")
    return None, False, _prompt(run, [*given.words, *literal])


def _resumed(
    run: argparse.ArgumentParser, given: argparse.Namespace, words: list[str]
) -> tuple[str | None, bool, str | None]:
    if given.last:
        return None, True, _prompt(run, words)
    if given.all:
        run.error("--all goes with --last: exec resume --last --all [PROMPT]")
    if not words:
        run.error("resume takes the id of a thread, or --last")
    return words[0], False, _prompt(run, words[1:])


def _prompt(run: argparse.ArgumentParser, words: list[str]) -> str | None:
    if len(words) > 1:
        run.error(f"the prompt is one argument; quote it: {' '.join(words)!r}")
    return words[0] if words else None
