"""What gets through all the same: at most five per mechanism, each with its reason.

`docs/explanation/security.md` shows this table; a test holds them together.
"""

from __future__ import annotations

from typing import Final, final

import attrs

MOST: Final = 5
"""Exceptions that one mechanism may have."""


@final
@attrs.frozen
class Exemption:
    """An attempt that a mechanism does not stop."""

    mechanism: str
    number: int
    reason: str


EXCEPTIONS: Final[tuple[Exemption, ...]] = ()
