"""The keys of the terminal, one by one, while a question is open.

The terminal belongs to the shell, so its modes are changed for that long only. What was typed
before anybody could read the question is thrown away, not taken for an answer.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, final

import attrs
import trio

from ._ask_state import Key

QUIET: Final = 0.5
"""Seconds without a key after which it is believed that the next one is an answer."""
TOGETHER: Final = 0.05
"""Seconds between keys that nobody presses one after the other: they are pasted."""
MOST_AT_ONCE: Final = 1 << 14
"""Bytes that are taken for one paste; what comes after them is the next one."""

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])|\r\n|.", re.DOTALL)
_NAMES: Final[dict[str, Key]] = {
    "\r": "enter",
    "\n": "enter",
    "\r\n": "enter",
    "\t": "tab",
    "\x04": "eof",
    "\x08": "backspace",
    "\x7f": "backspace",
    "\x15": "kill",
    "\x1b": "escape",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
}


def name_keys(text: str) -> tuple[Key, ...]:
    """Return the keys that send a text; those that mean nothing here have a name, too."""
    return tuple(map(_name, _SEQUENCE.findall(text)))


def _name(sent: str) -> Key:
    if sent in _NAMES:
        return _NAMES[sent]
    return sent if len(sent) == 1 and sent.isprintable() else "that key"


def can_ask(stdin: int) -> bool:
    """Tell whether keys can be read from the terminal of a file descriptor."""
    try:
        os.close(_open(stdin))
    except OSError:
        return False
    return True


def _open(stdin: int) -> int:
    # A description of its own, so that nobody else's reads stop waiting because of ours.
    return os.open(os.ttyname(stdin), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)


@final
@attrs.define(eq=False)
class Keyboard:
    """Reads keys."""

    _descriptor: int
    _decoder: codecs.IncrementalDecoder = attrs.field(
        factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"), init=False
    )

    async def wait_quiet(self) -> None:
        """Throw away what is typed until nothing is for a moment.

        Raises:
            trio.BrokenResourceError: if there is no terminal any more.
        """
        quiet = False
        while not quiet:
            self.forget()
            with trio.move_on_after(QUIET) as moment:
                await self._receive()
            quiet = moment.cancelled_caught

    def forget(self) -> None:
        """Throw away what was typed and not read."""
        self._decoder.reset()
        with suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def read(self) -> tuple[Key, ...]:
        """Return keys that came together, one at least.

        Raises:
            trio.BrokenResourceError: if there is no terminal any more.
        """
        told = await self._receive()
        together = True
        while together and len(told) < MOST_AT_ONCE:
            with trio.move_on_after(TOGETHER) as moment:
                told += await self._receive()
            together = not moment.cancelled_caught
        return name_keys(told)

    async def _receive(self) -> str:
        """Return what has come, some text at least."""
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            try:
                piece = os.read(self._descriptor, 1 << 12)
            except BlockingIOError:
                continue  # somebody else has read it
            except OSError as error:
                raise trio.BrokenResourceError from error
            if not piece:
                raise trio.BrokenResourceError
            if text := self._decoder.decode(piece):
                return text

    def take(self) -> list[Any]:
        """Have keys one by one, and unseen. Returns the modes that were set before.

        Raises:
            trio.BrokenResourceError: if there is no terminal any more.
        """
        while True:
            try:
                return self._set_modes()
            except termios.error as error:
                # A shell stops who does so in the background, and continues it later.
                if error.args[0] != errno.EINTR:
                    raise trio.BrokenResourceError from error

    def _set_modes(self) -> list[Any]:
        before: list[Any] = termios.tcgetattr(self._descriptor)
        modes = [*before[:6], [*before[6]]]
        modes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        # Not TCSADRAIN: a terminal that takes no output must not hold us up.
        termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
        return before


def _wait_foreground(descriptor: int) -> None:
    """Be stopped until a shell lets us have the terminal: until then, its modes are the shell's."""
    with suppress(OSError):
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            os.killpg(os.getpgrp(), signal.SIGTTOU)


@contextmanager
def open_keyboard(stdin: int) -> Iterator[Keyboard]:
    """Take the keys of the terminal of a file descriptor; what it was like before comes back.

    Raises:
        trio.BrokenResourceError: if there is no terminal any more.
    """
    try:
        descriptor = _open(stdin)
    except OSError as error:
        raise trio.BrokenResourceError from error
    keyboard = Keyboard(descriptor)
    try:
        _wait_foreground(descriptor)
        before = keyboard.take()
        try:
            yield keyboard
        finally:
            keyboard.forget()
            with suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, before)
    finally:
        os.close(descriptor)
