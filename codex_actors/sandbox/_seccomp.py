"""The filter of system calls, as a program for the kernel's packet filter.

The kernel runs it at each call of a confined process. It looks at the call's number, and at the
bits of arguments that are not pointers; what it does not name is allowed. A refused call fails
with EPERM, as calls do for which rights are missing, so that programs can say so.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from typing import Final

from . import _syscalls
from ._syscalls import MACHINES, NUMBERS

# From <linux/bpf_common.h>: load a word, jump on a comparison, return.
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_IF_ANY_BIT: Final = 0x45
_AND: Final = 0x54
_RETURN: Final = 0x06

# From <linux/seccomp.h>.
_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_FAIL: Final = 0x00050000
# Offsets in struct seccomp_data; arguments are 64 bits wide, the lower half first.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4

# From <linux/audit.h>.
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_CALLS: Final = 0x40000000

# CLONE_NEW*: time, mount, cgroup, uts, ipc, user, pid and network namespaces.
_NAMESPACES: Final = 0x7E020080
# From <asm/ioctls.h>: to type into a terminal; from <linux/fs.h>: to change a file's flags.
_TYPING: Final = (0x5412, 0x541C)
_FILE_FLAGS: Final = (0x40086602, 0x40046602, 0x401C5820)
_UNIX: Final = 1
_STREAM: Final = 1
_SEQUENCED: Final = 5
_SOCKET_TYPE: Final = 0xF

_Line = tuple[int, int, int, int]


def filter_program(
    machine: str, *, network: bool, metadata: bool = True, shared: bool = True
) -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        machine: One of `MACHINES`, as ``uname -m`` prints it.
        network: Whether sockets may be connected.
        metadata: Whether files' modes, owners, times and attributes may be changed.
        shared: Whether there are queues and memory of System V, shared with nobody outside.
    """
    column = MACHINES.index(machine)
    lines = [*_only(machine), *_namespaces(column), *_terminal(column, metadata=metadata)]
    forbidden = [
        *(*_syscalls.OTHERS_MEMORY, *_syscalls.PAST_THE_FILTER, *_syscalls.KEYS),
        *(*_syscalls.MOUNTS, *_syscalls.MACHINE),
    ]
    if not network:
        forbidden += _syscalls.NETWORK
        lines += _sockets(column)
    if not metadata:
        forbidden += _syscalls.METADATA
    if not shared:
        forbidden += _syscalls.SHARED
    for name in forbidden:
        number = NUMBERS[name][column]
        if number is not None:
            lines += [(_IF_EQUAL, 0, 1, number), _fail(errno.EPERM)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _only(machine: str) -> list[_Line]:
    """End whoever makes calls of another kind of machine, whose numbers mean something else."""
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        lines += [(_IF_AT_LEAST, 0, 1, _X32_CALLS), _fail(errno.EPERM)]
    return lines


def _namespaces(column: int) -> list[_Line]:
    """No new namespaces. ``clone3`` keeps its flags in memory: libraries do without it."""
    no_new = [(_IF_ANY_BIT, 0, 1, _NAMESPACES), _fail(errno.EPERM)]
    return [
        *_call("clone", column, [_argument(0), *no_new]),
        *_call("unshare", column, [_argument(0), *no_new]),
        *_call("clone3", column, [_fail(errno.ENOSYS)]),
    ]


def _terminal(column: int, *, metadata: bool) -> list[_Line]:
    """Nobody types into a terminal what the user's shell would then read."""
    commands = _TYPING if metadata else (*_TYPING, *_FILE_FLAGS)
    return _call("ioctl", column, [_argument(1), *_refuse_each(commands)])


def _sockets(column: int) -> list[_Line]:
    """Only sockets that cannot be sent from to an address without being connected."""
    kind = [
        _argument(1),
        (_AND, 0, 0, _SOCKET_TYPE),
        (_IF_EQUAL, 2, 0, _STREAM),
        (_IF_EQUAL, 1, 0, _SEQUENCED),
        _fail(errno.EPERM),
    ]
    family = [_argument(0), (_IF_EQUAL, 1, 0, _UNIX), _fail(errno.EPERM)]
    to_address = [
        *(_argument(4), (_IF_EQUAL, 1, 0, 0), _fail(errno.EPERM)),
        *((_LOAD, 0, 0, 16 + 8 * 4 + 4), (_IF_EQUAL, 1, 0, 0), _fail(errno.EPERM)),
    ]
    return [
        *_call("socket", column, [*family, *kind]),
        *_call("socketpair", column, [*family, *kind]),
        *_call("sendto", column, to_address),
    ]


def _call(name: str, column: int, body: list[_Line]) -> list[_Line]:
    """The lines for one call; it is allowed if they do not return."""
    number = NUMBERS[name][column]
    assert number is not None
    return [(_IF_EQUAL, 0, len(body) + 1, number), *body, (_RETURN, 0, 0, _ALLOW)]


def _refuse_each(values: Iterable[int]) -> list[_Line]:
    return [line for value in values for line in ((_IF_EQUAL, 0, 1, value), _fail(errno.EPERM))]


def _argument(index: int) -> _Line:
    """Load the lower half of an argument."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _fail(error: int) -> _Line:
    return (_RETURN, 0, 0, _FAIL | error)
