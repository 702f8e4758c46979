"""Patches as a model writes them: the words for their parts, and the parser.

The format is an envelope (``*** Begin Patch`` … ``*** End Patch``) around hunks, each headed by
``*** Add File:``, ``*** Delete File:`` or ``*** Update File:``. Models are sloppy with it, so the
parser forgives what has one meaning only: padding around markers, a here-document around the whole
patch, a first chunk without ``@@``, a context line that lost its leading space because it is
empty, blank lines between hunks.

Invariant, held by ``tests/core/test_patch.py``: any text parses or raises `PatchError`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, final

import attrs

from .._errors import CodexActorsError
from ._patch_shell import (
    ShellPatch as ShellPatch,
)
from ._patch_shell import (
    find_shell_patch as find_shell_patch,
)
from ._patch_shell import (
    heredoc_body,
)

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ENVIRONMENT = "*** Environment ID:"
ADD = "*** Add File: "
DELETE = "*** Delete File: "
UPDATE = "*** Update File: "
MOVE = "*** Move to: "
END_OF_FILE = "*** End of File"


@final
@attrs.frozen
class WriteFile:
    """Make ``path`` hold ``text``, with the directories above it."""

    path: str
    text: str


@final
@attrs.frozen
class RemoveFile:
    path: str


@final
@attrs.frozen
class MoveFile:
    """Make ``destination`` hold ``text``, overwriting what is there, then remove ``path``."""

    path: str
    destination: str
    text: str


Operation: TypeAlias = WriteFile | RemoveFile | MoveFile


class PatchError(CodexActorsError):
    """A patch cannot be understood, or does not fit the files. No file was touched."""

    def __init__(
        self,
        message: str,
        *,
        hunk: int | None = None,
        path: str | None = None,
        expected: tuple[str, ...] = (),
        done: tuple[Operation, ...] = (),
    ) -> None:
        super().__init__(message)
        self.hunk = hunk
        """Which hunk of the patch failed, from 1; None when the text is no patch."""
        self.path = path
        """The file of that hunk, as the patch spells it."""
        self.expected = expected
        """The lines that the hunk expects to find and that are not there."""
        self.done = done
        """What the hunks before it would have done, for who wants to keep it."""

    def explain(self) -> str:
        """Return the message with the expected lines below it, as a model needs it."""
        return "\n".join([str(self), *self.expected])


Mark: TypeAlias = Literal[" ", "-", "+"]


@final
@attrs.frozen
class Chunk:
    """One place in a file: what is there, and what shall be there."""

    contexts: tuple[str, ...]
    """Lines to find one after another before the chunk, such as a class and its method."""
    lines: tuple[tuple[Mark, str], ...]
    at_end: bool = False
    """Whether the chunk is the end of its file."""

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(text for mark, text in self.lines if mark != "+")


@final
@attrs.frozen
class AddHunk:
    path: str
    text: str


@final
@attrs.frozen
class DeleteHunk:
    path: str


@final
@attrs.frozen
class UpdateHunk:
    path: str
    chunks: tuple[Chunk, ...]
    move_path: str | None = None


Hunk: TypeAlias = AddHunk | DeleteHunk | UpdateHunk


@final
@attrs.frozen
class Patch:
    hunks: tuple[Hunk, ...]
    """In the order in which they are applied; may be empty."""
    environment: str | None = None
    """Which of several machines the patch is for, when it says so."""


def parse_patch(text: str) -> Patch:
    """Return the hunks of a patch.

    Raises:
        PatchError: It is no patch; the message names the line, counted in ``text`` as stripped.
    """
    reader = _Reader(_envelope(text))
    environment = reader.environment()
    hunks: list[Hunk] = []
    while (header := reader.next_header()) is not None:
        hunks.append(reader.hunk(header, len(hunks) + 1))
    return Patch(tuple(hunks), environment)


def _envelope(text: str) -> list[str]:
    """Return the lines of a patch without what may be wrapped around them."""
    text = text.strip()
    inner = heredoc_body(text)
    lines = (text if inner is None else inner.strip()).split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    if lines[0].strip() != BEGIN:
        raise PatchError(f"a patch must start with the line {BEGIN!r}, not {_short(lines[0])}")
    if lines[-1].strip() != END or len(lines) == 1:
        raise PatchError(f"a patch must end with the line {END!r}, not {_short(lines[-1])}")
    return lines[:-1]


@attrs.define(eq=False)
class _Reader:
    """A cursor over the lines of one patch."""

    _lines: list[str]
    _at: int = 1

    def environment(self) -> str | None:
        line = self._peek()
        if line is None or not line.strip().startswith(ENVIRONMENT):
            return None
        self._at += 1
        name = line.strip().removeprefix(ENVIRONMENT).strip()
        if not name:
            raise self._error("the environment has no name")
        return name

    def next_header(self) -> str | None:
        while (line := self._peek()) is not None:
            self._at += 1
            if line.strip():
                return line.strip()
        return None

    def hunk(self, header: str, number: int) -> Hunk:
        try:
            return self._hunk(header)
        except PatchError as error:
            error.hunk = number
            raise

    def _hunk(self, header: str) -> Hunk:
        if header.startswith(ADD):
            return AddHunk(header.removeprefix(ADD).strip(), self._added())
        if header.startswith(DELETE):
            return DeleteHunk(header.removeprefix(DELETE).strip())
        if header.startswith(UPDATE):
            return self._update(header.removeprefix(UPDATE).strip())
        raise self._error(
            f"expected {ADD.strip()!r}, {DELETE.strip()!r} or {UPDATE.strip()!r} with a path,"
            f" not {_short(header)}"
        )

    def _added(self) -> str:
        text = []
        while (line := self._peek()) is not None and line.startswith("+"):
            text.append(line[1:] + "\n")
            self._at += 1
        return "".join(text)

    def _update(self, path: str) -> UpdateHunk:
        move_path = self._move()
        chunks: list[Chunk] = []
        while self._at_chunk():
            chunks.append(self._chunk(first=not chunks))
        if not chunks:
            raise self._error(f"the update of {path!r} changes no line")
        return UpdateHunk(path, tuple(chunks), move_path)

    def _move(self) -> str | None:
        line = self._peek()
        if line is None or not line.strip().startswith(MOVE):
            return None
        self._at += 1
        return line.strip().removeprefix(MOVE).strip()

    def _at_chunk(self) -> bool:
        while (line := self._peek()) == "":
            self._at += 1
        return line is not None and not line.startswith("***")

    def _chunk(self, *, first: bool) -> Chunk:
        contexts = self._contexts()
        if contexts is None and not first:
            self._at += 1
            raise self._error(f"expected a line starting with '@@', not {self._quoted_last()}")
        lines: list[tuple[Mark, str]] = []
        while (entry := self._line()) is not None:
            lines.append(entry)
        if not lines:
            raise self._bad_line()
        return Chunk(contexts or (), tuple(lines), self._end_of_file())

    def _contexts(self) -> tuple[str, ...] | None:
        """Return what the ``@@`` lines here say, or None if there are none."""
        contexts, found = [], False
        while (line := self._peek()) is not None and _is_chunk_header(line):
            if found and not line[2:].strip():
                break
            found = True
            self._at += 1
            if line[2:].strip():
                contexts.append(line[3:])
        return tuple(contexts) if found else None

    def _line(self) -> tuple[Mark, str] | None:
        line = self._peek()
        if line is None:
            return None
        if line == "":
            self._at += 1
            return " ", ""
        match line[0]:
            case " " | "-" | "+" as mark:
                self._at += 1
                return mark, line[1:]
            case _:
                return None

    def _end_of_file(self) -> bool:
        line = self._peek()
        if line is None or line.rstrip() != END_OF_FILE:
            return False
        self._at += 1
        return True

    def _bad_line(self) -> PatchError:
        self._at += 1
        if self._at > len(self._lines) or self._lines[self._at - 1].startswith(("***", "@@")):
            return self._error("a chunk has no lines")
        return self._error(
            f"a line of a chunk must start with a space, '-' or '+', not {self._quoted_last()}"
        )

    def _quoted_last(self) -> str:
        return _short(self._lines[self._at - 1])

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _error(self, message: str) -> PatchError:
        return PatchError(f"line {self._at} of the patch: {message}")


def _is_chunk_header(line: str) -> bool:
    return line.rstrip() == "@@" or line.startswith("@@ ")


def _short(line: str) -> str:
    return repr(line if len(line) <= 120 else line[:119] + "…")
