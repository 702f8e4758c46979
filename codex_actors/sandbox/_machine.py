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


def refuse_if_writable(sandbox: str, program: str, reach: Reach) -> None:
    """Do not rely on a program that the command may change for the next one.

    Raises:
        SandboxRefused: if it may be written.
    """
    if not reach.writes_everywhere and reach.may_write(os.path.realpath(program)):
        raise SandboxRefused(sandbox=sandbox, reason=f"the command could change {program!r}")
