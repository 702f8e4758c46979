"""What a command may change for those after it in the same script.

A program cannot change the shell that starts it; a command of the shell's own can: where names
lead (``PATH``, aliases, functions, options), what variables say, or the directory. Then words that
a rule allows, or that are known to be harmless, may mean something else. Held by
tests/approvals/test_shell_state.py, which asks real shells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ._shell_tree import Words

Doubt: TypeAlias = Literal["none", "place", "names"]
"""What may not be any more what it was: nothing, the directory, or everything."""

_MOVES: Final = frozenset({"cd", "chdir", "dirs", "popd", "pushd"})
_CHANGES: Final = frozenset(
    [
        *("-", ".", "[", "alias", "autoload", "bind", "bindkey", "builtin", "bye", "command"),
        *("compadd", "comparguments", "compcall", "compctl", "compdescribe", "compfiles"),
        *("compgen", "compgroups", "complete", "compopt", "compquote", "compset", "comptags"),
        *("comptry", "compvalues", "coproc", "declare", "disable", "emulate", "enable", "eval"),
        *("exec", "exit", "export", "fc", "float", "functions", "getln", "getopts", "hash"),
        *("history", "integer", "let", "limit", "local", "log", "logout", "mapfile", "nocorrect"),
        *("noglob", "print", "printf", "private", "pushln", "r", "read", "readarray", "readonly"),
        *("rehash", "repeat", "return", "sched", "set", "setopt", "shift", "shopt", "source"),
        *("test", "time", "trap", "ttyctl", "typeset", "unalias", "unfunction", "unhash"),
        *("unlimit", "unset", "unsetopt", "vared", "wait", "zcompile", "zformat", "zle"),
        *("zmodload", "zparseopts", "zregexparse", "zstyle", "zsystem"),
    ]
)
"""Of bash, dash and zsh, all that are not known to leave everything as it is. Tests and those that
print are among them: they set variables where words say so (``test -v 'a[PATH=1]'``)."""


def find_doubts(parts: Sequence[Words], first: Doubt = "none") -> tuple[Doubt, ...]:
    """For each command of a script, what those before it may have changed.

    Args:
        parts: The words of each.
        first: What is in doubt before any of them.
    """
    found: list[Doubt] = []
    doubt = first
    for words in parts:
        found.append(doubt)
        name = words[0] if words else ""
        if name in _CHANGES:
            doubt = "names"
        elif name in _MOVES and doubt == "none":
            doubt = "place"
    return tuple(found)
