"""Texts of a model before somebody's eyes who is to say yes or no: nothing in them is hidden.

Invariants, held by ``tests/cli/test_visible.py``: what is shown can be read back to what it was,
but for tabs; every character of it is seen; and no row is wider than there is room.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

TAB: Final = 8
"""Columns from one tab stop to the next, as terminals have them."""

# Marks and letters that have no shape, and so could hide between others.
_SHAPELESS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffc"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

_WORD: Final = re.compile(r"\S+ *| +")


def visible(line: str) -> str:
    """Return ``line`` with whatever does not show spelled in words: ``<U+202E>``.

    That is what a terminal would obey, what turns the direction of writing, spaces that are no
    spaces to a shell, marks on top of ASCII letters, and what no character was assigned to.
    """
    if line.isascii() and line.isprintable() and "<U+" not in line:
        return line
    return "".join(_spell(line))


def _spell(line: str) -> Iterator[str]:
    line, before = line.expandtabs(TAB), " "
    for place, char in enumerate(line):
        # What looks as if it were spelled is spelled itself.
        if line.startswith("<U+", place) or not _shows(char, before):
            yield f"<U+{ord(char):04X}>"
            before = " "
        else:
            yield char
            before = char


def _shows(char: str, before: str) -> bool:
    if char.isascii():
        return char.isprintable()
    match unicodedata.category(char)[0]:
        case "M":
            # Scripts that need marks put them on letters of their own.
            carried = not before.isascii() and unicodedata.category(before)[0] in "LM"
            return carried and not _SHAPELESS.match(char)
        case "L" | "N" | "P" | "S":
            return not _SHAPELESS.match(char)
        case _:
            return False


def fold(line: str, width: int) -> list[str]:
    """Cut a line into rows of at most ``width`` cells, one row at least; nothing is left out.

    A character that some terminals draw in two cells counts as two.
    """
    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    rows, room = [""], width
    for char in line:
        cells = _cells(char)
        if cells > room and rows[-1]:
            rows.append("")
            room = width
        rows[-1] += char
        room -= cells
    return rows


def wrap(line: str, width: int) -> list[str]:
    """Do the same as `fold`, but rather between two words."""
    rows, room = [""], width
    for word in _WORD.findall(line):
        for piece in fold(word, width):
            cells = _cells(piece)
            if cells > room and rows[-1]:
                rows.append("")
                room = width
            rows[-1] += piece
            room -= cells
    return rows


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in text)
