"""Find the places that a patch means in a text, and change them.

The cost is a few scans of the text per chunk, by Python's own string search, whose worst case is
linear; a file of megabytes takes milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, final

import attrs

from ._diff import line_changes, split_lines
from ._patch import BEGIN, END, UPDATE, Chunk, Mark

_CONTEXT_LINES = 3


class Mismatch(Exception):
    """A chunk does not fit its file."""

    def __init__(self, message: str, expected: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.expected = tuple(expected)


def update_text(text: str, chunks: Sequence[Chunk]) -> str:
    """Return ``text`` with the chunks carried out.

    Lines that stay keep their bytes, line ending included, even where the chunk spells their
    white space differently. New lines end as the first line of the text does, and the last line
    always ends.

    Raises:
        Mismatch: The lines of a chunk are not there.
    """
    old = split_lines(text)
    newline = "\r\n" if old and old[0].endswith("\r\n") else "\n"
    if old and not old[-1].endswith("\n"):
        old[-1] += newline
    finder = _Finder([line.removesuffix("\n").removesuffix("\r") for line in old])
    new: list[str] = []
    done = 0
    for start, lines in sorted(finder.places(chunks), key=lambda place: place[0]):
        new += old[done:start]
        done = max(done, start)
        for mark, added in lines:
            if mark == "+":
                new.append(added + newline)
                continue
            if mark == " ":
                new.append(old[done])
            done += 1
    return "".join([*new, *old[done:]])


def make_patch(path: str, old: str, new: str) -> str:
    """Return a patch that turns the file ``path`` from ``old`` into ``new``.

    The patch says what lines there are, so ``new`` comes out with a newline at its end, with the
    line endings of the first line of ``old``, and a file without lines can only get some.
    """
    before = [line.removesuffix("\n").removesuffix("\r") for line in split_lines(old)]
    after = [line.removesuffix("\n").removesuffix("\r") for line in split_lines(new)]
    finder, cursor, body = _Finder(before), 0, list[str]()
    for start, end, new_start, new_end in line_changes(before, after):
        first = max(cursor, start - _CONTEXT_LINES)
        last = end if end > first else min(end + 1, len(before))
        if finder.find(before[first:last], cursor) not in (first, None):
            first = cursor  # an earlier place looks the same: show all lines up to this one
        body += ["@@", *(f" {line}" for line in before[first:start])]
        body += [f"-{line}" for line in before[start:end]]
        body += [f"+{line}" for line in after[new_start:new_end]]
        body += [f" {line}" for line in before[end:last]]
        cursor = last
    if not body:
        body = ["@@", *(f" {line}" for line in before[-1:]), "*** End of File"]
    return "\n".join([BEGIN, f"{UPDATE}{path}", *body, f"{END}\n"])


class _Place(NamedTuple):
    start: int
    lines: Sequence[tuple[Mark, str]]


@final
@attrs.define(eq=False)
class _Finder:
    """Searches the lines of one text, forward only."""

    _lines: Sequence[str]
    _views: dict[int, _View] = attrs.field(factory=dict, init=False)

    def places(self, chunks: Sequence[Chunk]) -> Iterator[_Place]:
        """Say where each chunk belongs; chunks that only add lines belong to the end."""
        cursor = 0
        for chunk in chunks:
            for context in chunk.contexts:
                cursor = self._context(context, cursor) + 1
            old = chunk.old
            if not old:
                yield _Place(len(self._lines), chunk.lines)
                continue
            found, lines = self._chunk(chunk, old, cursor)
            cursor = found + sum(mark != "+" for mark, _ in lines)
            yield _Place(found, lines)

    def find(self, pattern: Sequence[str], start: int) -> int | None:
        """Return the first place of the pattern, by the strictest comparison that has one."""
        for strictness, fold in enumerate(_FOLDS):
            if strictness not in self._views:
                self._views[strictness] = _view([fold(line) for line in self._lines])
            found = self._views[strictness].find([fold(line) for line in pattern], start)
            if found is not None:
                return found
        return None

    def _context(self, context: str, cursor: int) -> int:
        found = self.find([context], cursor)
        if found is None:
            raise Mismatch("its context line is not there" + _below(cursor), [context])
        return found

    def _chunk(
        self, chunk: Chunk, old: Sequence[str], cursor: int
    ) -> tuple[int, Sequence[tuple[Mark, str]]]:
        """Return where the chunk is, and its lines without an empty last one that is not there."""
        candidates: list[Sequence[tuple[Mark, str]]] = [chunk.lines]
        if old[-1] == "":
            candidates.append(_without_last_blank(chunk.lines))
        for lines in candidates:
            pattern = [text for mark, text in lines if mark != "+"]
            start = max(cursor, len(self._lines) - len(pattern)) if chunk.at_end else cursor
            found = self.find(pattern, start) if pattern else cursor
            if found is not None:
                return found, lines
        where = " at the end of the file" if chunk.at_end else _below(cursor)
        raise Mismatch(f"the lines it expects are not there{where}", old)


class _View(NamedTuple):
    """Lines as one string, each between newlines, and where each begins."""

    text: str
    starts: Sequence[int]

    def find(self, pattern: Sequence[str], start: int) -> int | None:
        if start >= len(self.starts):
            return None
        found = self.text.find("\n".join(["", *pattern, ""]), self.starts[start])
        return None if found < 0 else bisect_left(self.starts, found)


def _view(lines: Sequence[str]) -> _View:
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return _View("\n".join(["", *lines, ""]), starts[:-1])


_TO_ASCII = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    )
)

_FOLDS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_TO_ASCII),
)
"""What two lines must agree in, from everything to hardly more than what a reader sees."""


def _without_last_blank(lines: Sequence[tuple[Mark, str]]) -> list[tuple[Mark, str]]:
    last = max(i for i, (mark, _) in enumerate(lines) if mark != "+")
    return [*lines[:last], *lines[last + 1 :]]


def _below(cursor: int) -> str:
    return f" after line {cursor}" if cursor else ""
