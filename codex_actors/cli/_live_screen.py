"""The end of a terminal, where the unfinished part of the live view is drawn again and again.

Between two frames the terminal is as a shell wants it: the cursor is shown and lines wrap. So
whatever ends the program, a SIGKILL included, has nothing to restore.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Sequence
from typing import Final, TextIO, final

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments

from ._ask_stage import Look
from ._ask_state import Page
from ._live_blocks import asked_about, finished, spaced, unfinished
from ._live_markdown import THEME
from ._view_state import Block, View

_BEGIN: Final = "\x1b[?25l\x1b[?7l"
"""Hide the cursor, and do not wrap: a line that is wider than we think must not become two."""
_END: Final = "\x1b[?7h\x1b[?25h"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"


@final
class Screen:
    """Draws on a terminal. Its methods may be called in any thread."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._console = Console(
            file=io.StringIO(), force_terminal=True, legacy_windows=False, theme=THEME
        )
        self._widths: list[int] = []
        """Cells of each line that is drawn and may be drawn over."""
        self._shown: str = ""
        self._above: Block | None = None
        self._gone = False
        # A frame that the terminal does not take is left behind in its thread; the next
        # one waits for it here.
        self._turn = threading.Lock()

    def draw(
        self, blocks: Sequence[Block], view: View, now: float, ask: Look | None = None
    ) -> Page | None:
        """Add blocks to the log, and draw what is unfinished below it. Blocks on the terminal.

        Args:
            blocks: What is finished.
            view: What is not.
            now: The time, in Unix seconds.
            ask: A question that stands there instead.

        Returns:
            What is seen of the question.
        """
        with self._turn:
            width, height = self._measure()
            head = self._back() + self._log(blocks)
            width, height, page = width - 1, max(height - 1, 1), None
            if ask is None:
                look = unfinished(view, now, above=self._above, width=width, height=height)
            else:
                asked = ask(width, height - 1, now)
                look, page = asked_about([((" ", ""),), *asked.rows][-height:]), asked.page
            options = self._console.options.update(width=width)
            lines = self._console.render_lines(look, options, pad=False)
            frame = "\r\n".join(self._print(Segments(line)) + _REST_OF_LINE for line in lines)
            if blocks or frame != self._shown:
                self._write(f"{_BEGIN}{head}{frame}{_REST_OF_SCREEN}{_END}")
            self._shown = frame
            self._widths = [Segment.get_line_length(line) for line in lines]
        return page

    def renew(self) -> None:
        """Draw below the cursor next time: others have written, too. May block for a frame."""
        with self._turn:
            self._widths = []
            self._shown = ""

    def leave(self, blocks: Sequence[Block]) -> None:
        """Add the last blocks, and leave nothing else. Blocks on the terminal."""
        with self._turn:
            self._measure()
            if self._widths or blocks:
                self._write(f"{_BEGIN}{self._back()}{self._log(blocks)}{_REST_OF_SCREEN}{_END}")
            self._widths = []

    def _measure(self) -> tuple[int, int]:
        try:
            width, height = os.get_terminal_size(self._terminal.fileno())
        except OSError:
            width, height = 0, 0
        # Terminals that do not know their size say that it is nothing.
        width, height = max(width or 80, 20), height or 24
        self._console.size = width, height
        return width, height

    def _back(self) -> str:
        """Return what moves to the first line drawn, however often lines wrap by now."""
        width = self._console.width
        rows = sum(max(-(-cells // width), 1) for cells in self._widths)
        return f"\x1b[{rows - 1}A\r" if rows > 1 else "\r"

    def _log(self, blocks: Sequence[Block]) -> str:
        return "".join(map(self._block, blocks))

    def _block(self, block: Block) -> str:
        space = "\n" if spaced(self._above, block) else ""
        self._above = block
        text = space + self._print(finished(block))
        # The log may wrap; it is what people copy.
        return f"\x1b[?7h{text}\x1b[?7l".replace("\n", f"{_REST_OF_LINE}\r\n")

    def _print(self, what: RenderableType) -> str:
        with self._console.capture() as captured:
            self._console.print(what, end="", crop=False)
        return captured.get()

    def _write(self, text: str) -> None:
        data = memoryview(text.encode(self._terminal.encoding, "replace"))
        try:
            while data and not self._gone:
                data = data[os.write(self._terminal.fileno(), data) :]
        except OSError:
            self._gone = True  # nobody is looking any more; the work goes on
