"""One program at a time writes a tree: its rollouts and its journal."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import trio

from .._folders import make_folder
from ..protocol import ThreadId
from ._errors import RolloutError
from ._files import FILE_MODE
from ._paths import lock_path


class ThreadBusy(RolloutError):
    """Another program is at work on the thread."""

    def __init__(self, thread_id: str, holder: str) -> None:
        super().__init__(
            f"thread {thread_id!r} is being worked on by process {holder or '?'}; wait for its"
            " end, or interrupt it, then resume"
        )
        self.thread_id = thread_id


@asynccontextmanager
async def open_lock(home: str | None, root: ThreadId) -> AsyncGenerator[None, None]:
    """Hold the one right to write a tree.

    It goes with the process, however that ends.

    Args:
        home: Absolute path of the home directory; None: nothing is written, and nothing held.
        root: Thread id of the tree's root.

    Raises:
        ThreadBusy: if another program holds it.
        OSError: if the disk refuses.

    Cancellation: nothing is held.
    """
    path = None if home is None else lock_path(home, root)
    held = None if path is None else await trio.to_thread.run_sync(_take, path, root)
    try:
        await trio.lowlevel.checkpoint()
        yield
    finally:
        if held is not None and path is not None:
            # Removed while it is held: who opened it before will find that it is gone.
            with suppress(OSError):
                os.unlink(path)
            os.close(held)


def find_holder(home: str, root: ThreadId) -> str | None:
    """The id of the process that works on a tree now; None if there is none. Blocks.

    ``?`` stands for one that has not said its id yet.

    Args:
        home: Absolute path of the home directory.
        root: Thread id of the tree's root.

    Raises:
        OSError: if the lock cannot be looked at.
    """
    try:
        descriptor = os.open(lock_path(home, root), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        # Shared, so that two who look do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor) or "?"
    finally:
        os.close(descriptor)
    return None


def _take(path: str, root: ThreadId) -> int:
    make_folder(os.path.dirname(path))
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise ThreadBusy(root, holder) from error
        if _is_there(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            return descriptor
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()


def _is_there(path: str, descriptor: int) -> bool:
    """Whether the locked file is still the one that others would open."""
    mine = os.fstat(descriptor)
    try:
        theirs = os.stat(path)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino)
