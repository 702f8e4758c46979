"""Where records are, below the home directory."""

from __future__ import annotations

import os.path
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from ..protocol import ThreadId

SESSIONS: Final = "sessions"
ARCHIVED: Final = "archived_sessions"
TREES: Final = "trees"

# Some versions of the reference append the id of the file where it differs from the thread's.
_NAME: Final = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-"
    r"([0-9A-Za-z]+(?:-[0-9A-Za-z]+)*)(?:_[0-9A-Za-z-]+)?\.jsonl"
)


def rollout_path(home: str, thread_id: str, now: float) -> str:
    """Where the rollout of a thread that begins now goes: by the day and time of people here.

    Args:
        home: Absolute path of the home directory.
        thread_id: The thread.
        now: Unix time in seconds.
    """
    local = datetime.fromtimestamp(now, UTC).astimezone()
    name = f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{thread_id}.jsonl"
    return os.path.join(home, SESSIONS, f"{local:%Y}", f"{local:%m}", f"{local:%d}", name)


def thread_of(path: str) -> ThreadId | None:
    """The thread that a rollout's name says it is of; None for other files."""
    found = _NAME.fullmatch(os.path.basename(path))
    return None if found is None else ThreadId(found[1])


def journal_path(home: str, root: str) -> str:
    """Where the journal of the tree with this root thread goes."""
    return os.path.join(home, TREES, f"{root}.jsonl")


def lock_path(home: str, root: str) -> str:
    """The file whose lock is the right to write the tree with this root thread."""
    return os.path.join(home, TREES, f"{root}.lock")


def time_stamp(now: float) -> str:
    """Unix seconds as lines have them: ``YYYY-MM-DDThh:mm:ss.mmmZ``, UTC."""
    seconds, micros = divmod(round(now * 1_000_000), 1_000_000)
    return f"{_second(seconds)}.{micros // 1000:03d}Z"


@lru_cache(maxsize=8)  # a turn writes a dozen lines, most of them in the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:-6]
