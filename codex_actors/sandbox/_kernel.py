"""The kernel's calls, for what runs in the new process.

As `_inside`, this module runs in an interpreter of its own. Structures and constants are from
<linux/mount.h> and <linux/openat2.h>.
"""

from __future__ import annotations

# `typing` and `ctypes` would take longer to import than all that is done here: what `ctypes` is
# made of will do.
import _ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

# Numbers of system calls that every machine shares.
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442

_HERE: Final = -100
_EMPTY_PATH: Final = 0x1000
_RECURSIVE: Final = 0x8000
_READ_ONLY: Final = 0x1
_NO_SUID: Final = 0x2
_NO_SYMLINKS: Final = 0x4


# Stubs describe these as the parts of ctypes that they are there.
class _Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class Char(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


class _Library:
    """The C library that this process has: whatever is asked of it is a function, as in ctypes."""

    _handle = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return _Function((name, self))  # type: ignore[arg-type]


libc: Final = _Library()


def mount(kind: str, path: str, options: bytes | None, flags: int = 0) -> None:
    check(libc.mount(kind.encode(), path.encode(), kind.encode(), flags | _NO_SUID, options), path)


def find(path: str) -> int:
    """A path as a descriptor. It was resolved before: where a link stands now, somebody put it."""
    how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, 0, _NO_SYMLINKS)
    return check(call(_OPENAT2, _HERE, os.fsencode(path), how, len(how)), path)


def clone(found: int) -> int:
    tree = check(call(_OPEN_TREE, found, b"", 1 | os.O_CLOEXEC | _EMPTY_PATH | _RECURSIVE))
    os.close(found)
    return tree


def set_read_only(tree: int) -> None:
    attr = struct.pack("=QQQQ", _READ_ONLY, 0, 0, 0)
    flags = _EMPTY_PATH | _RECURSIVE
    check(call(_MOUNT_SETATTR, tree, b"", flags, attr, len(attr)))


def attach(tree: int, path: str) -> None:
    target = find(path)
    # From and to are both descriptors, without paths: 0x4 and 0x40.
    check(call(_MOVE_MOUNT, tree, b"", target, b"", 0x44), path)
    os.close(target)
    os.close(tree)


def call(number: int, *arguments: object) -> int:
    return int(libc.syscall(number, *arguments))


def check(result: int, path: str | None = None) -> int:
    if result < 0:
        error = _ctypes.get_errno()
        raise OSError(error, os.strerror(error), path)
    return result
