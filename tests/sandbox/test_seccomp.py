"""The filter, run by a small interpreter of the kernel's packet filter."""

from __future__ import annotations

import errno
import struct

import pytest

from codex_actors.sandbox._seccomp import filter_program
from codex_actors.sandbox._syscalls import MACHINES, NUMBERS

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, MISSING = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


def decide(program: bytes, machine: str, number: int, *arguments: int) -> int:
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("=iIQ6Q", number, AUDIT[machine], 0, *padded)
    lines = list(struct.iter_unpack("=HBBI", program))
    register, at = 0, 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        match code:
            case 0x20:
                (register,) = struct.unpack_from("=I", data, value)
            case 0x54:
                register &= value
            case 0x15:
                at += yes if register == value else no
            case 0x35:
                at += yes if register >= value else no
            case 0x45:
                at += yes if register & value else no
            case _:
                return int(value)


def call(name: str, *arguments: int, machine: str = "x86_64", network: bool = False) -> int:
    number = NUMBERS[name][MACHINES.index(machine)]
    assert number is not None
    return decide(filter_program(machine, network=network), machine, number, *arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["ptrace", "mount", "bpf", "keyctl", "io_uring_setup", "setns"])
def test_what_is_refused_always(name: str, machine: str) -> None:
    assert REFUSE == call(name, machine=machine) == call(name, machine=machine, network=True)


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_without_the_network(machine: str) -> None:
    assert ALLOW == call("socket", 1, 1 | 0x80000, machine=machine)
    assert ALLOW == call("socketpair", 1, 5, machine=machine)
    for family, kind in ((1, 2), (1, 3), (2, 1), (10, 2), (16, 3), (40, 1)):
        assert REFUSE == call("socket", family, kind, machine=machine)
        assert ALLOW == call("socket", family, kind, machine=machine, network=True)
    assert REFUSE == call("connect", machine=machine)
    assert ALLOW == call("connect", machine=machine, network=True)


def test_sending_needs_a_connection_without_the_network() -> None:
    assert ALLOW == call("sendto", 3, 1 << 40, 5, 0, 0, 0)
    assert REFUSE == call("sendto", 3, 1 << 40, 5, 0, 1 << 40, 16)
    assert REFUSE == call("sendto", 3, 1 << 40, 5, 0, 8, 16)


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_and_processes_but_no_namespaces(machine: str) -> None:
    threads = 0x003D0F00
    assert ALLOW == call("clone", threads, machine=machine) == call("clone", 17, machine=machine)
    assert REFUSE == call("clone", 0x10000000 | 17, machine=machine)
    assert REFUSE == call("unshare", 0x00020000, machine=machine)
    assert ALLOW == call("unshare", 0x00000400, machine=machine), "a table of files of its own"
    assert MISSING == call("clone3", machine=machine)


def test_terminals_are_not_typed_into() -> None:
    assert REFUSE == call("ioctl", 0, 0x5412) == call("ioctl", 0, 0x5412 | 1 << 32)
    assert ALLOW == call("ioctl", 0, 0x5401)


def test_metadata_is_frozen_on_request() -> None:
    number = NUMBERS["fchmod"][0]
    assert number is not None
    frozen = filter_program("x86_64", network=True, metadata=False)

    assert REFUSE == decide(frozen, "x86_64", number)
    assert ALLOW == call("fchmod")


def test_other_kinds_of_calls() -> None:
    program = filter_program("x86_64", network=True)

    assert REFUSE == decide(program, "x86_64", 0x40000000 | 41)
    assert KILL == decide(program, "aarch64", 41)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", [0, 3, 63, 64, 5000])
def test_what_is_not_named_is_allowed(machine: str, number: int) -> None:
    assert ALLOW == decide(filter_program(machine, network=False), machine, number)
