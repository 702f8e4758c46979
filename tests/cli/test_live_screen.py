from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
import tty
from collections.abc import Iterator
from typing import TextIO

import attrs
import pytest

from codex_actors.cli._ask_frame import Frame
from codex_actors.cli._ask_stage import Look
from codex_actors.cli._ask_state import Page
from codex_actors.cli._live_screen import Screen
from codex_actors.cli._view_state import Asked, Looked, Said, View


@attrs.define(eq=False)
class Terminal:
    """A terminal that somebody else reads."""

    master: int
    stream: TextIO

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self) -> str:
        """Return all that was written since the last time."""
        os.write(self.stream.fileno(), END)
        told = b""
        while not told.endswith(END):
            told += os.read(self.master, 1 << 16)
        return told.removesuffix(END).decode()


END = b"<end of what was written>"


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = os.openpty()
    tty.setraw(slave)
    stream = os.fdopen(slave, "w", encoding="utf-8")
    made = Terminal(master, stream)
    made.resize(40, 10)
    yield made
    stream.close()
    os.close(master)


VIEW = View(phase="turn", saying="a")


def plain(written: str) -> str:
    """The words of a frame, and where it moves to, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", written)


def test_a_frame_is_drawn_over_the_one_before(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], VIEW, 0.0)
    screen.draw([Looked("x")], VIEW, 0.1)

    assert plain(terminal.read()) == (
        "\x1b[?25l\x1b[?7l\ra\x1b[K\r\n⠋ writing\x1b[K\x1b[J\x1b[?7h\x1b[?25h"
        "\x1b[?25l\x1b[?7l\x1b[1A\r\x1b[?7h✓ looked at x\x1b[K\r\n\x1b[?7l"
        "\x1b[K\r\na\x1b[K\r\n⠙ writing\x1b[K\x1b[J\x1b[?7h\x1b[?25h"
    )


def test_the_same_frame_is_drawn_once(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], VIEW, 0.0)
    terminal.read()
    screen.draw([], VIEW, 0.01)

    assert "" == terminal.read()


def test_leaving_takes_the_unfinished_away(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([Asked("x")], VIEW, 0.0)
    terminal.read()
    screen.leave([Said("end")])

    assert plain(terminal.read()).replace(" ", "") == (
        "\x1b[?25l\x1b[?7l\x1b[2A\r\x1b[?7h\x1b[K\r\nend\x1b[K\r\n\x1b[?7l\x1b[J\x1b[?7h\x1b[?25h"
    )


def test_leaving_what_was_never_drawn_writes_nothing(terminal: Terminal) -> None:
    Screen(terminal.stream).leave([])

    assert "" == terminal.read()


def test_a_narrower_terminal_has_wrapped_what_was_drawn(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], attrs.evolve(VIEW, saying="x" * 39), 0.0)
    terminal.read()
    terminal.resize(20, 10)
    screen.draw([], VIEW, 0.1)

    # Two rows of x and one of the status: the first of them is two above the last.
    assert terminal.read().startswith("\x1b[?25l\x1b[?7l\x1b[2A\r")


@pytest.mark.parametrize("size", [(1, 1), (0, 0), (7, 2), (500, 200)])
def test_any_size_will_do(terminal: Terminal, size: tuple[int, int]) -> None:
    screen = Screen(terminal.stream)
    terminal.resize(*size)
    screen.draw([Said("a " * 100)], attrs.evolve(VIEW, saying="日本語 " * 100), 0.0)
    screen.leave([])

    assert terminal.read()


def test_a_frame_is_never_higher_than_the_terminal(terminal: Terminal) -> None:
    Screen(terminal.stream).draw([], attrs.evolve(VIEW, saying="a\n\n- b\n" * 50), 0.0)

    assert 8 == terminal.read().count("\r\n")


def test_after_each_frame_the_terminal_is_as_a_shell_wants_it(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    for tenth in range(5):
        screen.draw([Looked("x")], VIEW, tenth / 10)
        assert terminal.read().endswith("\x1b[?7h\x1b[?25h")
    screen.leave([Looked("y")])
    assert terminal.read().endswith("\x1b[?7h\x1b[?25h")


def test_a_terminal_that_is_gone_is_no_error(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], VIEW, 0.0)
    os.close(terminal.master)
    screen.draw([Looked("x")], VIEW, 1.0)
    screen.leave([Looked("x")])
    terminal.master = os.open(os.devnull, os.O_RDONLY)


def asks(*rows: str) -> Look:
    page = Page(first=0, size=9, total=len(rows))
    return lambda width, height, now: Frame(tuple(((row, "bold"),) for row in rows), page)


def test_a_question_stands_where_the_unfinished_was(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], VIEW, 0.0)
    terminal.read()
    page = screen.draw([], VIEW, 0.1, asks("what?", "y yes"))
    asked = plain(terminal.read())
    screen.draw([Looked("x")], VIEW, 0.2, asks("what?", "y yes"))
    below_the_log = plain(terminal.read())
    screen.draw([], VIEW, 0.3)
    answered = plain(terminal.read())

    assert Page(first=0, size=9, total=2) == page
    assert "\x1b[1A\r \x1b[K\r\nwhat?\x1b[K\r\ny yes\x1b[K\x1b[J" in asked
    assert "\x1b[2A\r\x1b[?7h✓ looked at x\x1b[K\r\n" in below_the_log
    assert below_the_log.endswith("what?\x1b[K\r\ny yes\x1b[K\x1b[J\x1b[?7h\x1b[?25h")
    assert "what?" not in answered
    assert "writing" in answered


def test_a_question_that_is_higher_than_the_terminal_shows_its_end(terminal: Terminal) -> None:
    screen = Screen(terminal.stream)
    screen.draw([], VIEW, 0.0, asks(*map(str, range(20))))
    frame = plain(terminal.read())

    assert 9 == frame.count("\x1b[K")
    assert "19\x1b[K\x1b[J" in frame
