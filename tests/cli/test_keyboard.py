from __future__ import annotations

import os
import termios
from collections.abc import Iterator

import attrs
import pytest
import trio

from codex_actors.cli._keyboard import can_ask, name_keys, open_keyboard


@attrs.frozen
class Terminal:
    master: int
    slave: int

    def modes(self) -> list[object]:
        return termios.tcgetattr(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = os.openpty()
    yield Terminal(master, slave)
    for descriptor in (master, slave):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("y", ["y"]),
        ("\r", ["enter"]),
        ("\r\n", ["enter"]),
        ("no\x7f\x15", ["n", "o", "backspace", "kill"]),
        ("\x1b[A\x1bOB\x1b[5~\x1b[F", ["up", "down", "page up", "end"]),
        ("\x1b", ["escape"]),
        ("\x1by", ["escape", "y"]),
        ("\x1b[1;5C\x01", ["that key", "that key"]),
        ("\x04", ["eof"]),
        ("日\u202e", ["日", "that key"]),
    ],
)
def test_keys_have_names(sent: str, keys: list[str]) -> None:
    assert tuple(keys) == name_keys(sent)


async def test_the_modes_come_back_whatever_happens(terminal: Terminal) -> None:
    before = terminal.modes()
    with pytest.raises(KeyError), open_keyboard(terminal.slave):
        assert before != terminal.modes()
        raise KeyError

    assert before == terminal.modes()


async def test_keys_that_come_together_are_read_together(terminal: Terminal) -> None:
    with open_keyboard(terminal.slave) as keyboard:
        os.write(terminal.master, "jé".encode()[:2])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_write, terminal.master, "é".encode()[1:])
            assert ("j", "é") == await keyboard.read()


async def _write(descriptor: int, data: bytes) -> None:
    await trio.lowlevel.checkpoint()
    os.write(descriptor, data)


async def test_reading_can_be_cancelled(terminal: Terminal) -> None:
    with open_keyboard(terminal.slave) as keyboard, trio.move_on_after(0.01) as scope:
        await keyboard.read()

    assert scope.cancelled_caught


async def test_what_was_typed_before_is_thrown_away(terminal: Terminal) -> None:
    os.write(terminal.master, b"y\ny")
    with open_keyboard(terminal.slave) as keyboard:
        await keyboard.wait_quiet()
        os.write(terminal.master, b"n")

        assert ("n",) == await keyboard.read()


async def test_nobody_reads_what_the_question_left(terminal: Terminal) -> None:
    with open_keyboard(terminal.slave):
        os.write(terminal.master, b"rm -rf x\n")

    os.set_blocking(terminal.slave, False)
    with pytest.raises(BlockingIOError):
        os.read(terminal.slave, 100)


async def test_a_terminal_that_is_gone(terminal: Terminal) -> None:
    master, slave = os.openpty()
    with open_keyboard(slave) as keyboard:
        os.close(master)
        with pytest.raises(trio.BrokenResourceError):
            await keyboard.read()
        with pytest.raises(trio.BrokenResourceError):
            await keyboard.wait_quiet()
    with pytest.raises(trio.BrokenResourceError), open_keyboard(slave):
        pass
    os.close(slave)


def test_keys_come_from_terminals_only(terminal: Terminal) -> None:
    reading, writing = os.pipe()

    assert [True, False] == [can_ask(terminal.slave), can_ask(reading)]
    os.close(reading)
    os.close(writing)
