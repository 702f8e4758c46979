"""What gets through all the same: at most five per mechanism, each with its reason.

`docs/explanation/security.md` shows this table; a test holds them together.
"""

from __future__ import annotations

from typing import Final, final

import attrs

MOST: Final = 5
"""Exceptions that one mechanism may have."""

_OTHERS: Final = (
    "Landlock knows nothing of it, and a filter of system calls that forbade it would also forbid"
    " a process to do it to itself by its own number; only processes of the same user are reached"
)


@final
@attrs.frozen
class Exemption:
    """An attempt that a mechanism does not stop."""

    mechanism: str
    number: int
    reason: str


EXCEPTIONS: Final = (
    Exemption("landlock", 122, _OTHERS),
    Exemption("landlock", 123, _OTHERS),
    Exemption("landlock", 124, _OTHERS),
)
