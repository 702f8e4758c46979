"""Whether a sandbox was in the way of a command: nobody tells, so it is guessed."""

from __future__ import annotations

from typing import Final

# Words and codes are the reference's.
_SIGNS: Final = (
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
)
_SIGSYS: Final = 31
_KILLED_BY_SECCOMP: Final = 128 + _SIGSYS


def looks_denied(exit_code: int | None, output: str) -> bool:
    """Return whether a confined command seems to have failed for want of permission.

    Args:
        exit_code: As shells tell it; None: it is not known.
        output: What it printed.
    """
    if not exit_code:
        return False
    said = output.lower()
    return any(sign in said for sign in _SIGNS) or exit_code == _KILLED_BY_SECCOMP
