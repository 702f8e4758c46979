"""Appending to many files with few open ones. Blocking: to be called in a thread."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, final

import attrs

from .._folders import make_folder
from ._syncing import sync_all

FILE_MODE: Final = 0o600
"""Rollouts hold what users and their files say; nobody else is to read them."""


@final
@attrs.frozen
class Append:
    """Bytes for the end of one file."""

    path: str
    data: bytes
    goes_on: bool
    """Whether they go on with what was written before, which may end inside a line."""


@final
@attrs.frozen
class Appended:
    """How far an append came."""

    written: int = 0
    """Bytes that the kernel has."""
    problem: OSError | None = None


@final
class AppendFiles:
    """Files that grow at their ends; a bounded number of them is open.

    Never used by two threads at once: its owner runs one batch at a time.
    """

    def __init__(self, max_open: int = 64) -> None:
        self._max_open = max_open
        self._open: OrderedDict[str, int] = OrderedDict()
        self._unsynced: set[str] = set()
        self._unsynced_folders: set[str] = set()

    @property
    def unsynced(self) -> bool:
        """Whether something was written that no `sync` has covered."""
        return bool(self._unsynced)

    @property
    def open_count(self) -> int:
        """How many files are open."""
        return len(self._open)

    def append(self, batch: Sequence[Append]) -> list[Appended]:
        """Do each append as far as it goes; one file's trouble is not another's."""
        return [self._append(job) for job in batch]

    def sync(self) -> OSError | None:
        """Have the disk hold what was written. Returns the first problem; the rest is tried."""
        problem: OSError | None = None
        waiting = sorted(self._unsynced)
        for start in range(0, len(waiting), self._max_open):
            problem = self._sync_some(waiting[start : start + self._max_open]) or problem
        return self._sync_names() or problem

    def close(self) -> None:
        """Close all files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _append(self, job: Append) -> Appended:
        written = 0
        try:
            descriptor = self._descriptor(job.path)
            if not job.goes_on:
                _end_line(descriptor)
            self._unsynced.add(job.path)
            while written < len(job.data):
                written += os.write(descriptor, memoryview(job.data)[written:])
        except OSError as error:
            # The next attempt opens it anew: the disk, the folder or the file may be another.
            self._drop(job.path)
            return Appended(written, error)
        return Appended(written)

    def _sync_some(self, paths: Sequence[str]) -> OSError | None:
        """Do so with no more files than can be open at once."""
        refused: dict[str, OSError] = {}
        descriptors: dict[str, int] = {}
        for path in paths:
            try:
                descriptors[path] = self._descriptor(path)
            except OSError as error:
                refused[path] = error
        refused.update(sync_all(descriptors))
        for path in refused:
            self._drop(path)
        self._unsynced.difference_update(descriptors.keys() - refused.keys())
        return next(iter(refused.values()), None)

    def _descriptor(self, path: str) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        descriptor = self._opened(path)
        while len(self._open) >= self._max_open:
            os.close(self._open.popitem(last=False)[1])
        self._open[path] = descriptor
        return descriptor

    def _opened(self, path: str) -> int:
        # Read as well: the last byte tells whether the last line is whole.
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            self._unsynced_folders.add(os.path.dirname(path))
        try:
            return os.open(path, flags | os.O_CREAT, FILE_MODE)
        except FileNotFoundError:
            make_folder(os.path.dirname(path))
            return os.open(path, flags | os.O_CREAT, FILE_MODE)

    def _sync_names(self) -> OSError | None:
        """Have the disk hold the names of new files: of all in one folder at once."""
        problem: OSError | None = None
        for path in sorted(self._unsynced_folders):
            try:
                folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
            except OSError as error:
                problem = problem or error
            else:
                self._unsynced_folders.discard(path)
        return problem

    def _drop(self, path: str) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)


def _end_line(descriptor: int) -> None:
    """Complete the newline that a writer who died may have left out."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")
