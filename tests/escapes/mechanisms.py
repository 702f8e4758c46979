"""What is tested here, and as whom."""

from __future__ import annotations

import os
import pwd
from functools import cache
from typing import Final

from codex_actors.sandbox import Sandbox, find_sandboxes, sandbox_faults
from tests.escapes.attempt import User

NAMES: Final = ("bubblewrap", "namespaces", "landlock")


def users() -> tuple[User, ...]:
    """Root can also make attempts as somebody without rights; others only as they are."""
    if os.getuid() != 0:
        return ("nobody",)
    return ("root", "nobody") if _has_nobody() else ("root",)


@cache
def sandboxes() -> dict[str, Sandbox]:
    return {sandbox.name: sandbox for sandbox in find_sandboxes()}


@cache
def faults() -> dict[str, str]:
    """Why the other mechanisms do not work here."""
    return {name: fault for name, fault in sandbox_faults().items() if fault is not None}


def _has_nobody() -> bool:
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        return False
    return True
