"""What a shell script says, as far as it is nothing but plain commands.

Plain are words and quoted strings in which the shell replaces nothing, joined by ``&&``, ``||``,
``;``, ``|`` and ends of lines. Of anything else it cannot be told before it runs what it runs.

The grammar comes from outside, as a tree. It is not believed blindly: every byte of the script
must belong to a word that is understood here as well, or to what may stand between words. Held by
tests/approvals/test_shell_grammar.py, which asks real shells for the words that they see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias, final

import attrs

Words: TypeAlias = tuple[str, ...]


@final
@attrs.frozen
class ShellNode:
    """A piece of a script, as a grammar of the shell names it."""

    kind: str
    start: int
    """Bytes of UTF-8 before it."""
    end: int
    children: tuple[ShellNode, ...] = ()
    """The named pieces in it, in order."""


ParseScript: TypeAlias = Callable[[str], ShellNode | None]
"""Returns the tree of a script, or None if it is no script, or not one that is worth the while."""

MOST_BYTES: Final = 32 * 1024
"""Of a script that is looked into. Longer ones are more than a few plain commands."""

RESERVED: Final = frozenset(
    [
        "!",
        "-",
        "[[",
        "]]",
        "{",
        "}",
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "end",
        "esac",
        "fi",
        "float",
        "for",
        "foreach",
        "function",
        "if",
        "in",
        "integer",
        "nocorrect",
        "repeat",
        "select",
        "then",
        "time",
        "until",
        "while",
    ]
)
"""What a shell takes for grammar, or for a modifier, where the name of a program would stand."""

_JOINING = frozenset({"program", "list", "pipeline"})
_PLAUSIBLE = re.compile(
    r"""(?:
      [^\x00-\x7f] | [A-Za-z0-9_@%+=:,./^~\- \t\n;&|] | \\[^\n]
    | '[^']*+' | "(?:[^"\\$`] | \\[^\n])*+"
    )*+""",
    re.VERBOSE,
)
_INSIDE = re.compile(rb"[ \t]+")
_BETWEEN = re.compile(rb"[ \t]*(?:(?:&&|\|\||\||;)[ \t\n]*|\n[ \t\n]*)")
_BEFORE = re.compile(rb"[ \t\n]*")
_AFTER = re.compile(rb"[ \t]*;?[ \t\n]*")
_ESCAPED = re.compile(r"\\([^\n])")
_NO_NAME = re.compile(r"\w+\+?=", re.ASCII)
_EXPANDS = re.compile(r"[$`]")
# Of zsh alone: names of programs, and patterns that it may have been told of.
_ZSH = re.compile(r"[=^~]")
_LETTERS = frozenset("_@%+=:,./-^")


def may_be_plain(script: str) -> bool:
    """Whether it is worth the while, and safe, to ask the grammar: a few letters rule most out."""
    return bool(_PLAUSIBLE.fullmatch(script))


def plain_commands(script: str, tree: ShellNode, *, zsh: bool = False) -> tuple[Words, ...] | None:
    """Return the words of every command of ``script``; None if one of them is not plain.

    Args:
        script: What the shell is given.
        tree: What the grammar makes of it.
        zsh: Whether the shell is zsh, which finds more to replace in a word.
    """
    source = script.encode()
    commands = list(_commands(tree))
    if not commands or any(node.kind != "command" for node in commands):
        return None
    if not _is_covered(source, commands):
        return None
    read = [_read_command(source, node, zsh=zsh) for node in commands]
    return tuple(words for words in read if words is not None) if all(read) else None


def _commands(tree: ShellNode) -> Iterator[ShellNode]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.kind in _JOINING:
            waiting.extend(reversed(node.children))
        else:
            yield node


def _is_covered(source: bytes, commands: list[ShellNode]) -> bool:
    gaps = [
        (_BEFORE, 0, commands[0].start),
        *((_BETWEEN, a.end, b.start) for a, b in pairwise(commands)),
        (_AFTER, commands[-1].end, len(source)),
    ]
    for command in commands:
        words = command.children
        gaps += [(_INSIDE, a.end, b.start) for a, b in pairwise(words)]
        if not words or (words[0].start, words[-1].end) != (command.start, command.end):
            return False
    return all(gap.fullmatch(source, start, end) for gap, start, end in gaps)


def _read_command(source: bytes, command: ShellNode, *, zsh: bool) -> Words | None:
    name, *_ = command.children
    spelled = source[name.start : name.end].decode()
    if spelled in RESERVED or _NO_NAME.match(spelled) or (zsh and _ZSH.search(spelled)):
        return None
    words: list[str] = []
    for node in command.children:
        word = _read_word(source, node, zsh=zsh)
        if word is None:
            return None
        words.append(word)
    # A job, even where the sign is quoted.
    return None if words[0].startswith("%") else tuple(words)


def _read_word(source: bytes, node: ShellNode, *, zsh: bool) -> str | None:
    text = source[node.start : node.end].decode()
    match node.kind:
        case "word" | "number":
            return _read_bare(text, zsh=zsh)
        case "raw_string":
            return text[1:-1] if re.fullmatch(r"'[^']*'", text) else None
        case "string":
            return _read_quoted(text)
        case "command_name" | "concatenation":
            return _read_joined(source, node, zsh=zsh)
        case _:
            return None


def _read_joined(source: bytes, node: ShellNode, *, zsh: bool) -> str | None:
    ends = [node.start, *(child.end for child in node.children)]
    starts = [*(child.start for child in node.children), node.end]
    parts = [_read_word(source, child, zsh=zsh) for child in node.children]
    if ends != starts or None in parts:
        return None
    return "".join(part for part in parts if part is not None)


def _read_bare(text: str, *, zsh: bool) -> str | None:
    bare = _ESCAPED.sub("a", text)
    if not all(_is_letter(bare, place) for place in range(len(bare))):
        return None
    if zsh and _ZSH.search(bare):
        return None
    return _ESCAPED.sub(r"\1", text)


def _is_letter(text: str, place: int) -> bool:
    """Whether a shell takes the character for itself; a tilde in the midst of a name is one."""
    letter = text[place]
    if letter == "~":
        return place > 0 and text[place - 1].isalnum()
    return letter.isalnum() or letter in _LETTERS


def _read_quoted(text: str) -> str | None:
    inside = text[1:-1]
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    escaped = re.sub(r'\\[\\"$`]', "", inside)
    if _EXPANDS.search(escaped) or '"' in escaped or escaped.endswith("\\") or "\\\n" in escaped:
        return None
    return re.sub(r'\\([\\"$`])', r"\1", inside)
