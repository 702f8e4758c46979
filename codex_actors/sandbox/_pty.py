"""Terminals for programs that want to talk to a person."""

from __future__ import annotations

import os
import signal
import termios
from contextlib import suppress
from typing import Final, final

import attrs

from ._spec import ProcessSpec

# A process gets a controlling terminal by opening one while it leads a session
# without any. Only code in the new process can do that, and running Python
# between fork and exec is not safe in a program with threads.
_TAKE_TERMINAL: Final = 'exec "$@" <>"$0" >&0 2>&0'


@final
@attrs.frozen
class Terminal:
    """Both ends of a pseudo-terminal, as file descriptors."""

    master: int
    """What the program prints can be read here, and what is typed written."""
    slave: int
    """The program's end; closed here once the program has it."""

    def close_slave(self) -> None:
        os.close(self.slave)

    def close(self) -> None:
        os.close(self.master)
        os.close(self.slave)


def open_terminal(spec: ProcessSpec) -> Terminal:
    """Make a terminal of the size that ``spec`` asks for.

    Raises:
        OSError: if the system has no terminals left.
    """
    terminal = Terminal(*os.openpty())
    resize(terminal.slave, rows=spec.rows, columns=spec.columns)
    return terminal


def with_terminal(argv: tuple[str, ...], program: str, terminal: Terminal) -> tuple[str, ...]:
    """A command that makes the terminal its own and then becomes ``program``."""
    return ("/bin/sh", "-c", _TAKE_TERMINAL, os.ttyname(terminal.slave), program, *argv[1:])


def resize(descriptor: int, *, rows: int, columns: int) -> None:
    """Tell the terminal its size; the program in the foreground gets a SIGWINCH."""
    termios.tcsetwinsize(descriptor, (rows, columns))


def interrupt_foreground(descriptor: int) -> None:
    """Do what Ctrl-C does, also if the program has switched Ctrl-C off."""
    with suppress(OSError):
        os.killpg(os.tcgetpgrp(descriptor), signal.SIGINT)
