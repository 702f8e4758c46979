"""Becoming the parent of orphans.

A daemon gets away from its ancestors by letting its parent die: the kernel
then gives it to the nearest living *subreaper* above, or else to init. A
program that is a subreaper therefore keeps everything it ever started below
itself, where it can be found. In return it has to reap those orphans.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

# From <linux/prctl.h>; part of the kernel's stable interface since Linux 3.4.
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_GET_CHILD_SUBREAPER: Final = 37


def become_subreaper() -> bool:
    """Ask the kernel for the orphans of this program's descendants.

    It holds for the whole program until it ends, and may be called again.
    Returns False where the kernel has no such thing: orphans then go to init.
    """
    return _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def is_subreaper() -> bool:
    """Whether orphans come to this program."""
    answer = ctypes.c_int(0)
    return _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer)) and answer.value == 1


def _prctl(option: int, argument: object) -> bool:
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    return bool(libc.prctl(option, argument, 0, 0, 0) == 0)
