"""The program's commands, by their first word."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from .._version import __version__
from ..config import find_nearest
from ..core import join_words
from ._completion import completion_command, completion_parser
from ._config_command import config_command, config_parser
from ._doctor import doctor_command, doctor_parser
from ._exec_command import exec_command
from ._exec_parser import exec_parser
from ._execpolicy_command import execpolicy_command, execpolicy_parser
from ._sandbox_command import sandbox_command, sandbox_parser
from ._tree_command import tree_command, tree_parser
from ._undo_command import undo_command, undo_parser


@attrs.frozen
class Command:
    """One command of the program."""

    help: str
    run: Callable[[Sequence[str]], int]
    """Takes the words after the command's own, and returns the exit status."""
    parser: Callable[[], argparse.ArgumentParser]


def _complete(argv: Sequence[str]) -> int:
    commands = {name: command.parser() for name, command in COMMANDS.items()}
    return completion_command(argv, program_parser(), commands)


COMMANDS: Final[Mapping[str, Command]] = {
    "exec": Command("run one agent to the end of its task", exec_command, exec_parser),
    "tree": Command("show the agents of a tree and what they did", tree_command, tree_parser),
    "undo": Command("take back what the last turn did to files", undo_command, undo_parser),
    "config": Command("show which settings hold, and where from", config_command, config_parser),
    "execpolicy": Command(
        "say what the rules make of a command", execpolicy_command, execpolicy_parser
    ),
    "doctor": Command(
        "look for what keeps the program from working here", doctor_command, doctor_parser
    ),
    "sandbox": Command(
        "run a command as agents' commands are run", sandbox_command, sandbox_parser
    ),
    "completion": Command(
        "print what a shell needs to complete these words", _complete, completion_parser
    ),
}

_WORDS_OF_EXEC: Final = ("resume",)


def run_command(argv: Sequence[str]) -> int:
    """Run the command that the words name, and return the exit status.

    Raises:
        SystemExit: after help or version, or with status 2 and a message if they are wrong.
    """
    if argv and argv[0] in COMMANDS:
        return COMMANDS[argv[0]].run(argv[1:])
    parser = program_parser()
    if argv and not argv[0].startswith("-"):
        parser.error(_no_command(argv))
    parser.parse_args(argv)
    return parser.error(f"the first word is a command: {', '.join(COMMANDS)}")


def _no_command(argv: Sequence[str]) -> str:
    """Say which command was perhaps meant: a word of its own may be misspelled, else a prompt."""
    word = argv[0]
    its_own = len(word.split()) == 1 and word not in _WORDS_OF_EXEC
    meant = find_nearest(word, COMMANDS) if its_own else None
    hint = join_words([meant, *argv[1:]] if meant else ["exec", *argv])
    return (
        f"the first word is a command ({', '.join(COMMANDS)}), not {word!r}; did you mean:"
        f" codex-actors {hint}"
    )


def program_parser() -> argparse.ArgumentParser:
    """Return the parser of what stands before any command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors", description="Supervised trees of coding agents.", allow_abbrev=False
    )
    parser.add_argument("-V", "--version", action="version", version=f"codex-actors {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.help)
    return parser
