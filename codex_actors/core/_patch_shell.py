"""Recognise a patch that comes as a shell command, so that it is applied as a patch.

Models often write ``apply_patch`` into a shell where the tool of that name was meant. A command is
taken for a patch only if it does nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import final

import attrs

_SHELLS = frozenset({"bash", "sh", "zsh"})
_HEREDOC = re.compile(r"<<\s*(['\"]?)(\w+)\1[ \t]*\n")
_COMMAND = re.compile(
    r"""\s*(?:cd[ \t]+(?:'([^'\n]+)'|"([^"\n$`\\]+)"|([^\s'"$`\\;&|<>(){}*?\[\]!#~-][^\s'"$`\\;&|<>(){}*?\[\]!#]*))"""
    r"""[ \t]*&&\s*)?(?:apply_patch|applypatch)[ \t]*"""
)


@final
@attrs.frozen
class ShellPatch:
    """A patch inside a shell command."""

    patch: str
    """Its text, not parsed."""
    directory: str | None = None
    """Where the command changes to first."""


def find_shell_patch(words: Sequence[str]) -> ShellPatch | None:
    """Return the patch that a command applies, or None if it does anything else as well.

    Recognised are ``apply_patch PATCH`` and a shell with ``-c`` or ``-lc`` whose whole script is
    ``apply_patch`` with a here-document, after an optional ``cd DIR &&``. The here-document is
    taken literally even where a shell would expand it.
    """
    match words:
        case ["apply_patch" | "applypatch", patch]:
            return ShellPatch(patch)
        case [shell, "-c" | "-lc", script] if shell.rpartition("/")[2] in _SHELLS:
            return _in_script(script)
        case _:
            return None


def _in_script(script: str) -> ShellPatch | None:
    command = _COMMAND.match(script)
    if command is None:
        return None
    body = heredoc_body(script[command.end() :])
    if body is None:
        return None
    return ShellPatch(body, command[1] or command[2] or command[3])


def heredoc_body(text: str) -> str | None:
    """Return what is inside ``text`` if it is one here-document and nothing else."""
    start = _HEREDOC.match(text)
    if start is None:
        return None
    body, found, rest = f"\n{text[start.end() :]}\n".partition(f"\n{start[2]}\n")
    return body.removeprefix("\n") if found and not rest.strip() else None
