"""Commands that destroy what nobody can bring back: ``rm`` by force, however it is called.

A guess that errs on the side of asking: it looks behind programs that run others, and into
scripts that cannot be taken apart. It is no fence; that is what the sandbox is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ._command import MOST_NESTED, TakenApart

_RUNNERS: Final = frozenset(
    [
        *("ash", "bash", "builtin", "busybox", "chroot", "chrt", "command", "coproc", "csh"),
        *("dash", "doas", "env", "eval", "exec", "find", "fish", "flock", "ionice", "ksh"),
        *("nice", "nocorrect", "noglob", "nohup", "nsenter", "parallel", "pkexec", "runuser"),
        *("script", "setsid", "sh", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run"),
        *("taskset", "tcsh", "time", "timeout", "trap", "unshare", "watch", "xargs", "zsh"),
    ]
)
"""Programs, and words of the shell, that run what they are told."""
_OPTION: Final = re.compile(r"-|\w+=", re.ASCII)
_SEPARATORS: Final = re.compile(r"[;&|\n()`{}]")
_QUOTES: Final = str.maketrans("", "", "'\"\\")


def is_dangerous(apart: TakenApart) -> bool:
    """Whether one of the commands is dangerous, or may be."""
    return apart.is_too_deep or any(map(is_dangerous_command, apart.parts))


def is_dangerous_command(words: Sequence[str]) -> bool:
    """Whether a command removes by force, itself or through programs that run others.

    More than `MOST_NESTED` of these in a row are dangerous whatever they run, as in the reference.
    """
    if not words:
        return False
    name = _program(words[0])
    if name not in _RUNNERS:
        return name == "rm" and _removes_by_force(words)
    if _removes_by_force(words) or _depth(words) > MOST_NESTED:
        return True
    return any(_removes_by_force(piece) for word in words for piece in _pieces(word))


def _depth(words: Sequence[str]) -> int:
    """Programs that run programs in a row, those in a script at its end included."""
    depth = 0
    for word in words:
        if _program(word) in _RUNNERS:
            depth += 1
        elif any(letter.isspace() for letter in word):
            return depth + max((_depth(piece) for piece in _pieces(word)), default=0)
        elif not _OPTION.match(word):
            return depth
    return depth


def _program(word: str) -> str:
    return word.rpartition("/")[2]


def _removes_by_force(words: Iterable[str]) -> bool:
    """Whether ``rm`` stands anywhere, and a flag of force after it.

    Where the program begins is not asked: the options of those that run others are too many.
    """
    removes = False
    for word in words:
        if removes and _is_force(word):
            return True
        removes = (removes and word != "--") or _program(word) == "rm"
    return False


def _is_force(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 2 and "--force".startswith(word)
    return word.startswith("-") and "f" in word


def _pieces(script: str) -> Iterator[list[str]]:
    """The words of a script, cut wherever a shell might cut; quotes of all levels are dropped."""
    if any(letter.isspace() for letter in script):
        for piece in _SEPARATORS.split(script.translate(_QUOTES)):
            yield piece.split()
