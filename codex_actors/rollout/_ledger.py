"""A file whose every entry is there whole, or not at all. Blocking: call it in a thread."""

from __future__ import annotations

import contextlib
import os
from typing import final

from .._folders import make_folder
from ._files import FILE_MODE


@final
class FileLedger:
    """Entries at the end of a file, handed to the kernel before `append` returns."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0

    @property
    def path(self) -> str:
        """Where that is, for people."""
        return self._path

    def append(self, data: bytes) -> None:
        """Take whole entries.

        Raises:
            OSError: if they were not taken; then none of them is there.
        """
        descriptor = self._opened()
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
        except OSError:
            self._take_back(descriptor)
            raise
        self._size += len(data)

    def close(self) -> None:
        """Take no more."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            # The kernel has everything; that it cannot be forced now changes no promise.
            with contextlib.suppress(OSError):
                os.fsync(descriptor)
            os.close(descriptor)

    def _take_back(self, descriptor: int) -> None:
        """Half an entry is none: the caller is told that nothing happened."""
        self._descriptor = None
        try:
            os.ftruncate(descriptor, self._size)
        finally:
            os.close(descriptor)

    def _opened(self) -> int:
        if self._descriptor is None:
            make_folder(os.path.dirname(self._path))
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, FILE_MODE)
            self._size = os.fstat(descriptor).st_size
            if self._size and os.pread(descriptor, 1, self._size - 1) != b"\n":
                self._size += os.write(descriptor, b"\n")
            self._descriptor = descriptor
        return self._descriptor
