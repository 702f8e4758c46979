"""Writing an argument vector as one line that a POSIX shell reads back.

Held by tests/core/test_quote.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Quoting as the reference's: bare where nothing is special, else single quotes, else
# double ones; a word that no single form can hold is written in several pieces. A caret
# stands only right after an opening single quote: elsewhere interactive shells may take
# it for a substitution in their history.
_BARE: Final = re.compile(r"[A-Za-z0-9+\-./:@\]_]+")
_SINGLE: Final = re.compile(r"\^?[^'\\^]*")
_DOUBLE: Final = re.compile(r"[^`$!^]+")

_UNWRITABLE: Final = "<command included NUL byte>"
"""What the reference writes for a command that no shell could be given."""


def quote_word(word: str) -> str:
    """Return one word, quoted where it has to be."""
    if not word:
        return "''"
    pieces: list[str] = []
    while word:
        piece, length = _piece(word)
        pieces.append(piece)
        word = word[length:]
    return "".join(pieces)


def join_words(words: Iterable[str]) -> str:
    """Return the words as one command line."""
    line = " ".join(map(quote_word, words))
    return _UNWRITABLE if "\0" in line else line


def _piece(word: str) -> tuple[str, int]:
    """Return the longest start of ``word`` that one form holds, and its length."""
    lengths = {form: _length(form, word) for form in (_BARE, _SINGLE, _DOUBLE)}
    longest = max(lengths.values())
    if lengths[_BARE] == longest:
        return word[:longest], longest
    if lengths[_SINGLE] == longest:
        return f"'{word[:longest]}'", longest
    escaped = re.sub(r'(["\\])', r"\\\1", word[:longest])
    return f'"{escaped}"', longest


def _length(form: re.Pattern[str], word: str) -> int:
    found = form.match(word)
    return found.end() if found else 0
