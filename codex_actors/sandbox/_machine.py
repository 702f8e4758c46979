"""What every mechanism asks first."""

from __future__ import annotations

import os

from ..core import Reach
from ._errors import SandboxRefused
from ._syscalls import MACHINES


def machine_of(sandbox: str) -> str:
    """The kind of this machine, as ``uname -m`` prints it.

    Raises:
        SandboxRefused: if its system calls are not known, so that they cannot be filtered.
    """
    machine = os.uname().machine
    if machine not in MACHINES:
        raise SandboxRefused(sandbox=sandbox, reason=f"no filter is known for {machine!r}")
    return machine


def refuse_if_unsafe(sandbox: str, program: str, reach: Reach) -> None:
    """Rely neither on a program that the command may change, nor on patterns.

    Args:
        sandbox: What is to enforce the reach.
        program: What it needs for that.
        reach: What the command may touch.

    Raises:
        SandboxRefused: if the program may be written; or as `refuse_patterns`.
    """
    refuse_patterns(sandbox, reach)
    if not reach.writes_everywhere and reach.may_write(os.path.realpath(program)):
        raise SandboxRefused(sandbox=sandbox, reason=f"the command could change {program!r}")


def refuse_patterns(sandbox: str, reach: Reach) -> None:
    """Rely on paths only.

    Raises:
        SandboxRefused: if nobody has looked for what the patterns match.
    """
    if reach.patterns:
        reason = "nobody has looked for what its patterns match"
        raise SandboxRefused(sandbox=sandbox, reason=reason)
