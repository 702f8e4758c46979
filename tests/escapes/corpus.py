"""All attempts, in their order."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import Attempt, User
from tests.escapes.lasting import LASTING
from tests.escapes.meddling import MEDDLING
from tests.escapes.planting import PLANTING
from tests.escapes.reading import READING
from tests.escapes.talking import TALKING
from tests.escapes.writing import MOUNTING, WRITING

CORPUS: Final[tuple[Attempt, ...]] = (
    *WRITING,
    *MOUNTING,
    *PLANTING,
    *TALKING,
    *MEDDLING,
    *READING,
    *LASTING,
)

_OF_RIGHTS: Final = frozenset(
    attempt.number for part in (MOUNTING, MEDDLING, READING) for attempt in part
)


def attempts_of(user: User, *, every: bool) -> tuple[Attempt, ...]:
    """The attempts that a user makes.

    Args:
        user: Who makes them.
        every: Also those that root makes as well and on which a user's rights hardly bear: they
            are not about mounts, nor about what belongs to others.
    """
    return tuple(
        attempt
        for attempt in CORPUS
        if user in attempt.users
        and (every or attempt.users == (user,) or attempt.number in _OF_RIGHTS)
    )
