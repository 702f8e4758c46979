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
    handed: Mapping[str, bytes] = attrs.field(factory=dict)
    """What it can read from inherited descriptors: each word of ``argv`` that is a key here is
    replaced by the number of a descriptor of these bytes."""
    confined: bool = False
    """A sandbox runs the command: it makes the terminal its own and ends with this program."""
    in_session: bool = False
    """Stay in the session of whoever starts it, and use that terminal."""
    stand_ins: tuple[str, ...] = ()
    """Paths where nothing is, and nothing may be made: empty folders stand there meanwhile."""


class OutputSink(Protocol):
    """Takes the output of a process and decides what to keep.

    A process never waits for whoever reads its output, so a sink that is meant
    for unknown programs must be bounded.
    """

    def append(self, data: bytes, /) -> None:
        """Take the next bytes. Called from the process's reader; must neither block nor raise."""
        ...
