"""Patterns of paths, as people write them.

Between slashes ``*`` is any text and ``?`` any character, ``[ab]`` is one of these and ``[!ab]``
none of these; ``{a,b}`` is either; ``**`` is any number of folders. A pattern holds for what it
matches and for all below that. Held by tests/core/test_globs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, final

import attrs

_MAGIC: Final = frozenset("*?[]{}")
_ANY_FOLDERS: Final = "**"


@final
@attrs.frozen
class PathPattern:
    """An absolute pattern."""

    text: str
    max_depth: int | None = None
    """How many folders below `base` are looked through for it; None: all."""

    @property
    def base(self) -> str:
        """The folder that everything it matches lies below."""
        return "/" + "/".join(self._plain())

    @property
    def depth(self) -> int | None:
        """How deep below `base` a look at the disk has to go; None: to the bottom."""
        rest = self.text.strip("/").split("/")[len(self._plain()) :]
        own = None if _ANY_FOLDERS in rest else len(rest)
        return min((depth for depth in (own, self.max_depth) if depth is not None), default=None)

    def matches(self, path: str) -> bool:
        """Whether it is about the path itself; absolute and normalised."""
        return _compiled(self.text)[0].fullmatch(path) is not None

    def holds_for(self, path: str) -> bool:
        """Whether it matches the path or a folder above it."""
        return _compiled(self.text)[1].fullmatch(path) is not None

    def _plain(self) -> list[str]:
        parts = self.text.strip("/").split("/")
        magic = next((i for i, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
        return parts[:magic]


def is_pattern(text: str) -> bool:
    """Whether the text is more than the name of one path."""
    return not _MAGIC.isdisjoint(text)


@cache
def _compiled(text: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    plain = _regex(text)
    return re.compile(plain, re.DOTALL), re.compile(f"(?:{plain})(?:/.*)?", re.DOTALL)


def _regex(text: str) -> str:
    parts = text.strip("/").split("/")
    # Any folders below any folders are any folders; said twice, a search takes for ever.
    kept = [p for i, p in enumerate(parts) if p != _ANY_FOLDERS or parts[i - 1 : i] != [p]]
    if kept[-1:] == [_ANY_FOLDERS]:
        kept.append("*")
    folders = (r"(?:/[^/]+)*" if p == _ANY_FOLDERS else "/" + "".join(_tokens(p)) for p in kept)
    return "".join(folders)


def _tokens(part: str) -> Iterator[str]:
    open_braces, closing = 0, part.count("}")
    at = 0
    while at < len(part):
        char, end = part[at], at + 1
        if char == "*":
            yield "[^/]*"
        elif char == "?":
            yield "[^/]"
        elif char == "[" and (close := part.find("]", at + 2)) > 0:
            yield _one_of(part[at + 1 : close])
            end = close + 1
        elif char == "{" and open_braces < closing:
            open_braces += 1
            yield "(?:"
        elif char == "}" and open_braces:
            open_braces, closing = open_braces - 1, closing - 1
            yield ")"
        elif char == "," and open_braces:
            yield "|"
        else:
            yield re.escape(char)
        at = end


def _one_of(chars: str) -> str:
    negated = chars[:1] in ("!", "^") and len(chars) > 1
    inner = re.escape(chars[1:] if negated else chars).replace(r"\-", "-")
    return f"[{'^/' if negated else ''}{inner}]"
