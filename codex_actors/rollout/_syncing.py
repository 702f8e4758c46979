"""Having the disk hold many files. Blocking: to be called in a thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from threading import Thread
from typing import Final

HANDS: Final = 4
"""How many files are waited for at once. The disk serves them together: one after another, a
thousand files take up to twenty times as long."""


def sync_all(descriptors: Mapping[str, int]) -> Mapping[str, OSError]:
    """Have the disk hold files; return what it had against which of them.

    Args:
        descriptors: The open files, by their paths.
    """
    waiting = deque(descriptors.items())
    refused: dict[str, OSError] = {}

    def sync_some() -> None:
        while True:
            try:
                path, descriptor = waiting.popleft()
            except IndexError:
                return
            try:
                os.fsync(descriptor)
            except OSError as error:
                refused[path] = error

    # Daemons, since a disk that hangs must not keep the process from ending.
    helpers = [
        Thread(target=sync_some, name="sync", daemon=True)
        for _ in range(min(HANDS, len(descriptors)) - 1)
    ]
    started = [helper for helper in helpers if _start(helper)]
    sync_some()
    for helper in started:
        helper.join()
    return refused


def _start(helper: Thread) -> bool:
    """Whether there is room for one more thread; the work is done without it, too."""
    try:
        helper.start()
    except RuntimeError:
        return False
    return True
