"""Finding rollouts: by thread, by age, by the directory that they worked in.

Everything here without ``async`` blocks; `RolloutStore` does it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import final

import attrs
import trio

from ..protocol import SessionMeta, ThreadId
from ._errors import ThreadNotFound
from ._paths import ARCHIVED, SESSIONS, thread_of
from ._reading import Rollout, read_meta, read_rollout


@final
@attrs.frozen(kw_only=True)
class RolloutSummary:
    """One rollout, as lists show it."""

    thread_id: ThreadId
    path: str
    cwd: str
    timestamp: str
    """When it began: UTC, as in rollout lines."""
    source: str
    """Who made the thread: a word such as ``exec``, or ``subagent``."""


def list_rollouts(
    home: str, *, cwd: str | None = None, limit: int | None = None
) -> tuple[RolloutSummary, ...]:
    """Rollouts, newest first. Of each file the first line is read, and no more files than needed.

    Args:
        home: Absolute path of the home directory.
        cwd: Only those that began in this directory; None: all.
        limit: At most so many; None: all.
    """
    summaries = map(_summarize, newest_first(os.path.join(home, SESSIONS)))
    wanted = (s for s in summaries if s is not None and cwd in (None, s.cwd))
    return tuple(islice(wanted, limit))


def find_latest(home: str, *, cwd: str | None = None) -> ThreadId | None:
    """The thread that began last, other than those that agents made; None if there is none.

    Args:
        home: Absolute path of the home directory.
        cwd: Only threads that began in this directory; None: all.
    """
    summaries = map(_summarize, newest_first(os.path.join(home, SESSIONS)))
    wanted = (
        s.thread_id
        for s in summaries
        if s is not None and cwd in (None, s.cwd) and s.source != "subagent"
    )
    return next(wanted, None)


def find_rollout(home: str, thread_id: str) -> str:
    """The path of a thread's rollout, archived ones included.

    Raises:
        ThreadNotFound: if there is none.
    """
    for folder in (SESSIONS, ARCHIVED):
        for path in newest_first(os.path.join(home, folder)):
            if thread_of(path) == thread_id:
                return path
    raise ThreadNotFound(thread_id, os.path.join(home, SESSIONS))


def find_rollouts(home: str, thread_ids: Iterable[str]) -> dict[ThreadId, str]:
    """The paths of many threads' rollouts, archived ones included, with one look at the folders.

    Threads without a rollout are left out. Of a thread with several the newest counts.

    Args:
        home: Absolute path of the home directory.
        thread_ids: The threads.
    """
    missing = set(thread_ids)
    found: dict[ThreadId, str] = {}
    for folder in (SESSIONS, ARCHIVED):
        for path in newest_first(os.path.join(home, folder)):
            if not missing:
                return found
            thread_id = thread_of(path)
            if thread_id is not None and thread_id in missing:
                missing.remove(thread_id)
                found[thread_id] = path
    return found


@final
@attrs.frozen
class RolloutStore:
    """The rollouts below one home directory.

    Cancellation: of every method: the thread goes on alone, and harms nothing.
    """

    home: str
    """Absolute path."""

    async def find(self, thread_id: str) -> str:
        """The path of a thread's rollout.

        Raises:
            ThreadNotFound: if there is none.
        """
        return await trio.to_thread.run_sync(
            find_rollout, self.home, thread_id, abandon_on_cancel=True
        )

    async def find_all(self, thread_ids: Iterable[str]) -> dict[ThreadId, str]:
        """The paths of many threads' rollouts; see `find_rollouts`."""
        return await trio.to_thread.run_sync(
            find_rollouts, self.home, tuple(thread_ids), abandon_on_cancel=True
        )

    async def list(
        self, *, cwd: str | None = None, limit: int | None = None
    ) -> tuple[RolloutSummary, ...]:
        """Rollouts, newest first; see `list_rollouts`."""
        return await trio.to_thread.run_sync(
            partial(list_rollouts, self.home, cwd=cwd, limit=limit), abandon_on_cancel=True
        )

    async def latest(self, *, cwd: str | None = None) -> ThreadId | None:
        """The thread that began last; see `find_latest`."""
        return await trio.to_thread.run_sync(
            partial(find_latest, self.home, cwd=cwd), abandon_on_cancel=True
        )

    async def read(self, path: str) -> Rollout:
        """Everything in a rollout that can be read; see `read_rollout`.

        Raises:
            EmptyRollout: if that is nothing.
            UnreadableRollout: if the file cannot be read.
        """
        return await trio.to_thread.run_sync(read_rollout, path, abandon_on_cancel=True)


def newest_first(folder: str) -> Iterator[str]:
    """Files below the folder, by their names: these begin with the time, and so do folders."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name, reverse=True)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from newest_first(entry.path)
        elif thread_of(entry.path) is not None:
            yield entry.path


def _summarize(path: str) -> RolloutSummary | None:
    thread_id, meta = thread_of(path), read_meta(path)
    if thread_id is None or meta is None:
        return None
    return RolloutSummary(
        thread_id=thread_id,
        path=path,
        cwd=meta.cwd,
        timestamp=meta.timestamp,
        source=_source(meta),
    )


def _source(meta: SessionMeta) -> str:
    if meta.parent_thread_id is not None:
        return "subagent"
    match meta.source:
        case str(word):
            return word
        case {"custom": str(word)}:
            return word
        case dict() as made if len(made) == 1:
            return str(next(iter(made)))
        case _:
            return "unknown"
