"""Which command has to go when an agent runs too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

MAX_SESSIONS: Final = 64
"""Commands that an agent may have running, or ended and not yet looked at; as Codex has it."""
MANY_SESSIONS: Final = 60
"""From how many on people are warned; as Codex has it."""
SAFE_SESSIONS: Final = 8
"""How many of those used last are never ended to make room; as Codex has it."""


class Prunable(Protocol):
    """What must be known of a command."""

    @property
    def busy(self) -> bool:
        """Whether a call waits for it at this moment."""
        ...

    @property
    def ended(self) -> bool:
        """Whether its process has exited."""
        ...


P = TypeVar("P", bound=Prunable)


def choose_victim(sessions: Sequence[P]) -> P | None:
    """Return which of the commands to end: one that has exited by itself, else the oldest.

    Args:
        sessions: Ordered by their last use, the one used last at the end.
    """
    old = [session for session in sessions[:-SAFE_SESSIONS] if not session.busy]
    return next((session for session in old if session.ended), old[0] if old else None)
