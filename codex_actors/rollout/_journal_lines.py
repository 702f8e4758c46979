"""Reading a journal back, whatever happened to it. Blocking: call it in a thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..wire import WireError
from ._entries import Entry, decode_entry
from ._errors import JournalUnreadable
from ._tally import JournalState, add_up

_LONGEST_REASON: Final = 300
"""Characters that are said of a line which cannot be read; a line may have megabytes."""


def read_journal(path: str) -> JournalState:
    """What a journal says. One that is not there says nothing.

    A line that cannot be read, for whatever reason, is passed over and named in
    `JournalState.problems`.

    Raises:
        JournalError: if the file cannot be opened or read.
    """
    try:
        with open(path, "rb") as file:
            return read_entries(file)
    except FileNotFoundError:
        return JournalState()
    except OSError as error:
        raise JournalUnreadable(path, error.strerror or str(error)) from error


def read_entries(lines: Iterable[bytes]) -> JournalState:
    """What the lines of a journal say together."""
    entries: list[Entry] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = decode_entry(line) if line.strip() else None
        except WireError as error:
            problems.append(f"line {number}: {_shorten(str(error))}")
        else:
            entries.extend([] if entry is None else [entry])
    return add_up(entries, tuple(problems))


def _shorten(reason: str) -> str:
    longer = len(reason) > _LONGEST_REASON
    return f"{reason[:_LONGEST_REASON]}..." if longer else reason
