"""What to run, and who takes the output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, final

import attrs


@final
@attrs.frozen(kw_only=True)
class ProcessSpec:
    """A program to be started."""

    argv: tuple[str, ...] = attrs.field(validator=attrs.validators.min_len(1))
    """The program and its arguments; the program is looked up in the ``PATH`` of ``env``."""
    cwd: str
    """The directory it starts in."""
    env: Mapping[str, str]
    """Its whole environment: nothing is inherited."""
    tty: bool = False
    """Give it a terminal, which can be written to; otherwise its input is ``/dev/null``."""
    rows: int = 24
    """Height of the terminal, in lines. 24 by 80 is what every terminal can show."""
    columns: int = 80
    """Width of the terminal, in characters."""


class OutputSink(Protocol):
    """Takes the output of a process and decides what to keep.

    A process never waits for whoever reads its output, so a sink that is meant
    for unknown programs must be bounded.
    """

    def append(self, data: bytes, /) -> None:
        """Take the next bytes. Called from the process's reader; must neither block nor raise."""
        ...
