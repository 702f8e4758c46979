"""The log without a live view, on a terminal where questions are asked.

Nothing is drawn over: what is new of a question is written below, and what agents do meanwhile
waits until it is answered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Final, TextIO, final

import attrs
import trio

from ._ask_stage import Look, Verdict
from ._ask_state import Page
from ._ask_words import Row
from ._human import STYLES

_MARKS: Final = {"yes": ("✓", "green"), "no": ("✗", "red"), "gone": ("·", "dim")}


@final
@attrs.define(eq=False)
class PlainStage:
    """Writes lines and questions to a terminal."""

    terminal: TextIO
    colored: bool = False
    clock: Callable[[], float] = time.time
    _shown: tuple[Row, ...] | None = attrs.field(default=None, init=False)
    """Rows of the question that is open; None if none is."""
    _held: list[str] = attrs.field(factory=list, init=False)

    def write(self, line: str) -> None:
        """Write a line of the log, or keep it until the question is answered."""
        if self._shown is not None:
            self._held.append(line)
        else:
            self._print(f"{line}\n")

    async def show(self, look: Look) -> Page:
        """See `Stage.show`."""
        before = self._shown
        self._shown = before or ()
        width, height = self._measure()
        lay_out = partial(look, width - 1, height - 1, self.clock())
        frame = await trio.to_thread.run_sync(lay_out, abandon_on_cancel=True)
        self._shown = _without_blanks(frame.rows)
        await self._tell(self._news(before, self._shown))
        return frame.page

    async def renew(self) -> None:
        """See `Stage.renew`."""
        self._shown = ()
        await trio.lowlevel.checkpoint()

    async def hide(self, verdict: Verdict) -> None:
        """See `Stage.hide`."""
        mark = self._ink(_MARKS[verdict.kind])
        await self._tell(f"{self._break()}{mark} {verdict.text}\n")
        self._release()

    def drop(self) -> None:
        """See `Stage.drop`."""
        self._print(self._break())
        self._release()

    def _break(self) -> str:
        """End the row that the question ends with; lines are kept until it is written."""
        begun, self._shown = self._shown, ()
        return "\n" if begun else ""

    def _release(self) -> None:
        self._shown = None
        self._print("".join(f"{line}\n" for line in self._held))
        self._held.clear()

    def _measure(self) -> tuple[int, int]:
        try:
            width, height = os.get_terminal_size(self.terminal.fileno())
        except OSError:
            width, height = 0, 0
        return max(width or 80, 20), max(height or 24, 8)

    def _news(self, before: Sequence[Row] | None, rows: Sequence[Row]) -> str:
        """Return what has to be written below, or behind, what is there."""
        if not before:
            return "".join(f"\n{self._row(row)}" for row in rows)
        old, new = _text(before[-1]), _text(rows[-1])
        if before[:-1] == rows[:-1] and new.startswith(old):
            return new.removeprefix(old)  # somebody types
        same = len(
            list(takewhile(lambda pair: pair[0] == pair[1], zip(before, rows, strict=False)))
        )
        return "".join(f"\n{self._row(row)}" for row in rows[same:])

    def _row(self, row: Row) -> str:
        return "".join(map(self._ink, row))

    def _ink(self, piece: tuple[str, str]) -> str:
        text, style = piece
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colored and style and text else text

    async def _tell(self, text: str) -> None:
        await trio.to_thread.run_sync(self._print, text, abandon_on_cancel=True)

    def _print(self, text: str) -> None:
        """Write to the log. The work does not depend on whether anybody can read it."""
        with suppress(OSError):
            print(text, end="", file=self.terminal, flush=True)


def _without_blanks(rows: Sequence[Row]) -> tuple[Row, ...]:
    last = max((place for place, row in enumerate(rows) if _text(row)), default=0)
    return tuple(rows[: last + 1])


def _text(row: Row) -> str:
    return "".join(text for text, _ in row)
