"""What a turn has to ask of the disk at least, done by hand."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, final

import attrs
import trio

_LINES: Final = b"x" * 400


@final
@attrs.frozen
class Disk:
    """A file on the disk where homes of agents are made."""

    descriptor: int

    async def write(self, *, sync: bool = False) -> float:
        """Append some lines in a thread; return the seconds it took."""
        began = time.perf_counter()
        await trio.to_thread.run_sync(self._write, sync)
        return time.perf_counter() - began

    async def turn(self) -> float:
        """Write as a turn does whose waits do not overlap: the task, its end, its outcome."""
        return await self.write() + await self.write(sync=True) + await self.write()

    def _write(self, sync: bool) -> None:  # noqa: FBT001
        os.write(self.descriptor, _LINES)
        if sync:
            os.fsync(self.descriptor)


@contextmanager
def open_disk() -> Generator[Disk, None, None]:
    """Make the file; it is gone after the block."""
    with tempfile.TemporaryFile(prefix="bench-") as file:
        yield Disk(file.fileno())
