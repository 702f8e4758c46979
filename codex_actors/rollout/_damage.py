"""Which rollouts cannot be read in full. Blocking: call it in a thread."""

from __future__ import annotations

import os
from itertools import islice

from ._errors import RolloutError
from ._paths import SESSIONS
from ._reading import read_rollout
from ._store import newest_first


def find_damaged(home: str, newest: int) -> tuple[tuple[str, str], ...]:
    """Read the newest rollouts; return the path of each that is damaged, and how.

    A last line that its writer did not live to end is no damage.

    Args:
        home: Absolute path of the home directory.
        newest: How many rollouts to read.
    """
    paths = islice(newest_first(os.path.join(home, SESSIONS)), newest)
    found = ((path, _damage(path)) for path in paths)
    return tuple((path, damage) for path, damage in found if damage is not None)


def _damage(path: str) -> str | None:
    try:
        rollout = read_rollout(path)
    except RolloutError as error:
        return str(error)
    if rollout.meta is None:
        return "no line says which thread it is of"
    bad = [problem for problem in rollout.problems if not problem.torn]
    return f"line {bad[0].number}: {bad[0].reason}" if bad else None
