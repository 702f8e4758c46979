"""What a command is taken apart into: the plain commands that it runs.

Shells that are given a script are seen through, so that ``bash -lc 'git status'`` is judged as
``git status`` is. What cannot be taken apart stays one command, and is known to be opaque.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, final

import attrs

from ._shell_tree import MOST_BYTES, ParseScript, Words, may_be_plain, plain_commands

MOST_NESTED: Final = 8
"""Shells inside of a shell that are seen through; the reference's number."""

SHELL_NAMES: Final = frozenset({"bash", "sh", "zsh"})
SYSTEM_DIRECTORIES: Final = ("/bin", "/usr/bin")
"""Where a program is what its name says."""


@final
@attrs.frozen
class TakenApart:
    """The commands that one command runs, in order."""

    parts: tuple[Words, ...]
    """The words of each; at least one command."""
    is_opaque: bool = False
    """Whether one of them is a script that may do more than can be told."""
    is_too_deep: bool = False
    """Whether shells are nested so deep that nobody looks; whoever does that hides something."""


def take_apart(
    words: Sequence[str], parse: ParseScript, shells: Collection[str] = ()
) -> TakenApart:
    """Take a command apart; never raises.

    Args:
        words: The program and its arguments.
        parse: The grammar of the shell.
        shells: Absolute paths of shells besides those in the system's own directories. One that
            lies elsewhere may be anything, and is not seen through.
    """
    return _take_apart(tuple(words), parse, shells, MOST_NESTED + 1)


def _take_apart(words: Words, parse: ParseScript, shells: Collection[str], left: int) -> TakenApart:
    if not is_shell(words, shells):
        return TakenApart((words,))
    commands = _read_script(words, parse) if left else None
    if commands is None:
        return TakenApart((words,), is_opaque=True, is_too_deep=not left)
    inner = [_take_apart(command, parse, shells, left - 1) for command in commands]
    return TakenApart(
        tuple(part for apart in inner for part in apart.parts),
        is_opaque=any(apart.is_opaque for apart in inner),
        is_too_deep=any(apart.is_too_deep for apart in inner),
    )


def is_shell(words: Sequence[str], shells: Collection[str] = ()) -> bool:
    """Whether the program is a shell that is known: of the system, or one of these paths."""
    if not words:
        return False
    directory, slash, name = words[0].rpartition("/")
    is_known = not slash or directory in SYSTEM_DIRECTORIES or words[0] in shells
    return name in SHELL_NAMES and is_known


def _read_script(words: Words, parse: ParseScript) -> tuple[Words, ...] | None:
    match words:
        case [shell, "-c" | "-lc", script] if _is_script(script):
            tree = parse(script) if may_be_plain(script) else None
            zsh = shell.rpartition("/")[2] == "zsh"
            return None if tree is None else plain_commands(script, tree, zsh=zsh)
        case _:
            return None


def _is_script(word: str) -> bool:
    """Whether a shell takes it for a script, and reads in it what we read."""
    if word[:1] in {"-", "+"}:  # one more option: its script would be another word
        return False
    try:
        return "\0" not in word and len(word.encode()) <= MOST_BYTES
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return False
