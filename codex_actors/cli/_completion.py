"""`codex-actors completion`: what a shell needs to complete our words."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ._completion_scripts import bash_script, fish_script, zsh_script
from ._completion_words import Words, read_words

SHELLS: Final[Mapping[str, Callable[[Words, Sequence[Words]], str]]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}

# Words that a command finds among its arguments by itself.
_MORE: Final[Mapping[str, tuple[str, ...]]] = {"exec": ("resume",)}


def completion_command(
    argv: Sequence[str],
    program: argparse.ArgumentParser,
    commands: Mapping[str, argparse.ArgumentParser],
) -> int:
    """Print the script of a shell, and return the exit status.

    Args:
        argv: The words after the command's own.
        program: The parser of what stands before any command.
        commands: The parser of each command, by name.

    Raises:
        SystemExit: if the words are wrong, or ask for help.
    """
    shell = completion_parser().parse_args(argv).shell
    words = [read_words(name, parser, *_MORE.get(name, ())) for name, parser in commands.items()]
    print(SHELLS[shell](read_words("", program), words), end="")
    return 0


def completion_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="codex-actors completion",
        description="Print what a shell needs to complete the words of this program.",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell to complete in")
    return parser
