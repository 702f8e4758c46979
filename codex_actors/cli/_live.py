"""The live view: events in, frames out, at a pace that the terminal and the eye can follow."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, TextIO, final

import trio

from ..protocol import Event, EventMsg
from ._ask_stage import Look, Verdict
from ._ask_state import Page
from ._live_screen import Screen
from ._view_merge import merge
from ._view_state import Block, Note, View, finish, step, step_below

PERIOD: Final = 0.1
"""Seconds between two frames."""
LAST_FRAME: Final = 5.0
"""Seconds that a terminal that takes nothing may hold up the end of the program."""
MOST_WAITING: Final = 1000
"""Events that wait for the next frame; further ones are worked in at once, to bound memory."""


@final
class LiveView:
    """Shows on a terminal what one agent does."""

    def __init__(self, terminal: TextIO, clock: Callable[[], float] = time.time) -> None:
        self._screen = Screen(terminal)
        self._clock = clock
        self._view = View(since=clock())
        self._waiting: list[EventMsg] = []
        self._below: list[Event] = []
        self._blocks: deque[Block] = deque()
        self._look: Look | None = None
        # Held in threads only: the last frame waits there for one that was left to itself.
        self._pen = threading.Lock()

    def tell(self, msg: EventMsg) -> None:
        """Take an event; it is seen with the next frame. Never waits for the terminal."""
        self._waiting.append(msg)
        if len(self._waiting) >= MOST_WAITING:
            self._work_in()

    def tell_below(self, event: Event) -> None:
        """Take an event of an agent below the one that is shown."""
        self._below.append(event)
        if len(self._below) >= MOST_WAITING:
            self._work_in()

    async def show(self, look: Look) -> Page:
        """See `Stage.show`; it is drawn anew with every frame."""
        self._look = look
        page = await self._draw()
        assert page is not None
        return page

    async def renew(self) -> None:
        """See `Stage.renew`."""
        await trio.to_thread.run_sync(self._screen.renew, abandon_on_cancel=True)

    async def hide(self, verdict: Verdict) -> None:
        """See `Stage.hide`."""
        self._look = None
        self._work_in()
        self._blocks.append(Note(verdict.kind, verdict.text))
        await self._draw()

    def drop(self) -> None:
        """See `Stage.drop`."""
        self._look = None

    async def run(self) -> None:
        """Draw until cancelled.

        Cancellation: shows what there still is to show, and leaves the terminal as a shell
        wants it; takes five seconds at most.
        """
        try:
            while True:
                await trio.sleep(PERIOD)
                await self._draw()
        finally:
            with trio.move_on_after(LAST_FRAME, shield=True):
                await trio.to_thread.run_sync(self._leave, abandon_on_cancel=True)

    async def _draw(self) -> Page | None:
        self._work_in()
        draw = partial(self._draw_frame, self._view, self._clock(), self._look)
        return await trio.to_thread.run_sync(draw, abandon_on_cancel=True)

    def _draw_frame(self, view: View, now: float, look: Look | None) -> Page | None:
        with self._pen:
            return self._screen.draw(self._take(), view, now, look)

    def _leave(self) -> None:
        self._work_in()
        with self._pen:
            self._screen.leave([*self._take(), *finish(self._view, self._clock())])

    def _take(self) -> list[Block]:
        """Take what is finished, in the thread that draws it: what is not drawn is not taken."""
        blocks: list[Block] = []
        while self._blocks:
            blocks.append(self._blocks.popleft())
        return blocks

    def _work_in(self) -> None:
        now = self._clock()
        for msg in merge(self._waiting):
            self._view, blocks = step(self._view, msg, now)
            self._blocks += blocks
        self._waiting.clear()
        for event in self._below:
            self._view, blocks = step_below(self._view, event, now)
            self._blocks += blocks
        self._below.clear()
