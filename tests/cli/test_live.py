from __future__ import annotations

import os
import re
import time
import tty
from collections.abc import Iterator
from typing import TextIO

import attrs
import pytest
import trio
import trio.testing

from codex_actors.cli._ask_frame import Frame
from codex_actors.cli._ask_stage import Verdict
from codex_actors.cli._ask_state import Page
from codex_actors.cli._live import LAST_FRAME, MOST_WAITING, LiveView
from codex_actors.protocol import AgentMessageDelta, EventMsg, WarningRaised


@attrs.define(eq=False)
class Terminal:
    master: int
    stream: TextIO

    def read(self) -> str:
        """Return the words that came since the last time."""
        os.write(self.stream.fileno(), END)
        told = b""
        while not told.endswith(END):
            told += os.read(self.master, 1 << 16)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", told.removesuffix(END).decode())


END = b"<end of what was written>"


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = os.openpty()
    tty.setraw(slave)
    made = Terminal(master, os.fdopen(slave, "w", encoding="utf-8"))
    yield made
    os.close(master)
    made.stream.close()


def delta(text: str) -> EventMsg:
    return AgentMessageDelta(thread_id="th", turn_id="t", item_id="m", delta=text)


async def read_until(terminal: Terminal, words: str) -> str:
    told = ""
    while words not in told:
        await trio.lowlevel.wait_readable(terminal.master)
        told += terminal.read()
    return told


async def test_events_are_seen_while_it_runs(terminal: Terminal) -> None:
    view = LiveView(terminal.stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.run)
        view.tell(WarningRaised("odd"))
        view.tell(delta("hel"))
        view.tell(delta("lo"))
        assert "warning: odd\r\n\r\nhello\r\n" in await read_until(terminal, "starting")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("cancel", [True, False])
async def test_whatever_ends_it_the_rest_is_shown(terminal: Terminal, cancel: bool) -> None:
    view = LiveView(terminal.stream)
    with pytest.RaisesGroup(ZeroDivisionError) if not cancel else trio.CancelScope():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(view.run)
            await read_until(terminal, "starting")
            view.tell(WarningRaised("odd"))
            view.tell(delta("cut"))
            if not cancel:
                raise ZeroDivisionError
            nursery.cancel_scope.cancel()

    last = terminal.read()
    assert last.endswith("warning: odd\r\n\r\ncut\r\n")


async def test_thousands_of_pieces_are_a_few_frames(terminal: Terminal) -> None:
    view = LiveView(terminal.stream)
    before = time.thread_time()
    for number in range(10 * MOST_WAITING):
        view.tell(delta("" if number % 100 else "word "))
    spent = time.thread_time() - before

    assert spent < 1.0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.run)
        told = await read_until(terminal, "starting")
        nursery.cancel_scope.cancel()
    assert told.count("starting") <= 2


async def test_a_terminal_that_takes_nothing_does_not_hold_the_agent_up(
    terminal: Terminal, autojump_clock: trio.testing.MockClock
) -> None:
    view = LiveView(terminal.stream)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.run)
        for _ in range(200):
            view.tell(WarningRaised("x" * 4000))
        await trio.sleep(1)
        view.tell(WarningRaised("the last word"))
        nursery.cancel_scope.cancel()

    assert trio.current_time() - began <= LAST_FRAME + 1
    told = b""
    while not (b"the last word" in told and told.endswith(b"\x1b[?25h")):
        told += os.read(terminal.master, 1 << 16)
    assert 200 * 4000 == told.count(b"x")


PAGE = Page(first=0, size=9, total=1)


def ask(width: int, height: int, now: float) -> Frame:
    return Frame(((("what?", "bold"),),), PAGE)


async def test_a_question_waits_below_the_log_until_it_is_answered(terminal: Terminal) -> None:
    view = LiveView(terminal.stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.run)
        assert PAGE == await view.show(ask)
        assert "what?" in terminal.read()
        view.tell(WarningRaised("odd"))
        assert "warning: odd" in await read_until(terminal, "what?")
        await view.hide(Verdict("no", "denied: x"))
        told = await read_until(terminal, "starting")
        assert "✗ denied: x" in told
        assert "what?" not in told
        nursery.cancel_scope.cancel()


async def test_a_question_does_not_outlive_the_program(terminal: Terminal) -> None:
    view = LiveView(terminal.stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.run)
        await view.show(ask)
        view.drop()
        assert "starting" in await read_until(terminal, "starting")
        nursery.cancel_scope.cancel()
