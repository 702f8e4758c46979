"""Commands that only look, whatever words they are given.

A list of what is safe, never of what is not: an option that is not known to be harmless is found
by its beginning, for most programs take a part of a long option for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ._command import SYSTEM_DIRECTORIES, TakenApart
from ._shell_state import Doubt, find_doubts

_ALWAYS: Final = frozenset(
    [
        "cat",
        "cd",
        "cut",
        "echo",
        "expr",
        "false",
        "grep",
        "head",
        "id",
        "ls",
        "nl",
        "numfmt",
        "paste",
        "pwd",
        "rev",
        "seq",
        "stat",
        "tac",
        "tail",
        "tr",
        "true",
        "uname",
        "wc",
        "which",
        "whoami",
    ]
)
_FIND: Final = frozenset(["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls"])
_GIT_LOOKS: Final = frozenset({"branch", "diff", "log", "show", "status"})
_GIT_RUNS: Final = ("--exec", "--ext-diff", "--output", "--textconv")
_BRANCH_LISTS: Final = frozenset(
    [
        "-a",
        "--all",
        "-l",
        "--list",
        "-r",
        "--remotes",
        "-v",
        "-vv",
        "--verbose",
        "--show-current",
        "--no-color",
    ]
)
_SED_PRINTS: Final = re.compile(r"\d+(,\d+)?p", re.ASCII)


def is_known_safe(apart: TakenApart) -> bool:
    """Whether nothing that the command runs changes anything, as far as its words can tell."""
    return all(safe_parts(apart))


def safe_parts(apart: TakenApart, first: Doubt = "none") -> tuple[bool, ...]:
    """For each part of a command, whether it only looks.

    Args:
        apart: The command.
        first: What is in doubt before its first part.
    """
    if apart.is_opaque:
        return (False,) * len(apart.parts)
    doubts = find_doubts(apart.parts, first)
    return tuple(
        is_safe_command(part) and _is_itself(part, doubt)
        for part, doubt in zip(apart.parts, doubts, strict=True)
    )


def _is_itself(words: Sequence[str], doubt: Doubt) -> bool:
    # The repository that git comes to may name programs to run in its settings.
    return doubt == "none" or (doubt == "place" and _program(words) != "git")


def is_safe_command(words: Sequence[str]) -> bool:
    """Whether a plain command, which is no script, only looks."""
    name = _program(words)
    if name is None or not all(map(_is_clean, words)):
        return False
    return name in _ALWAYS or (name in _SOMETIMES and _SOMETIMES[name](words[1:]))


def _program(words: Sequence[str]) -> str | None:
    """The name of a program that is what it is called; one of a project may be anything."""
    if not words:
        return None
    directory, slash, name = words[0].rpartition("/")
    return name if not slash or directory in SYSTEM_DIRECTORIES else None


def _is_clean(word: str) -> bool:
    return "\0" not in word and not any("\ud800" <= letter <= "\udfff" for letter in word)


def _has_option(words: Sequence[str], long: Sequence[str], short: str = "") -> bool:
    """Whether a word is one of the options, or may be: shortened, or among other letters."""
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--"):
            if len(name) > 2 and any(option.startswith(name) for option in long):
                return True
        elif word.startswith("-") and set(word) & set(short):
            return True
    return False


def _is_safe_base64(words: Sequence[str]) -> bool:
    return not _has_option(words, ["--output"], "o")


def _is_safe_find(words: Sequence[str]) -> bool:
    return not any(word in _FIND or word.startswith("-fprint") for word in words)


def _is_safe_rg(words: Sequence[str]) -> bool:
    return not _has_option(words, ["--pre", "--hostname-bin", "--search-zip"], "z")


def _is_safe_git(words: Sequence[str]) -> bool:
    """Whether a subcommand that looks comes first, so that no option of git's own is there."""
    if not words or words[0] not in _GIT_LOOKS or _has_option(words[1:], _GIT_RUNS):
        return False
    return words[0] != "branch" or all(word in _BRANCH_LISTS for word in words[1:])


def _is_safe_sed(words: Sequence[str]) -> bool:
    match words:
        case ["-n", lines, *files] if len(files) <= 1:
            return bool(_SED_PRINTS.fullmatch(lines)) and not any(f[:1] == "-" for f in files)
        case _:
            return False


def _is_safe_uniq(words: Sequence[str]) -> bool:
    """Whether there is no second file, which it would write."""
    return sum(not word.startswith("-") or word == "-" for word in words) <= 1 and (
        "--" not in words
    )


_SOMETIMES: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "base64": _is_safe_base64,
    "find": _is_safe_find,
    "git": _is_safe_git,
    "rg": _is_safe_rg,
    "sed": _is_safe_sed,
    "uniq": _is_safe_uniq,
}
