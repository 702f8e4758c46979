"""What stands around a sandbox and can be reached by who gets out: sockets, queues, terminals.

Each bait has the environment variables by which a script finds it, and says whether it was taken.
A bait is put out for an attempt whose script names one of its variables.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import threading
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

import attrs

from tests.escapes.attempt import Attempt
from tests.escapes.ground import Scene
from tests.escapes.victim import Victim

_libc = ctypes.CDLL(None, use_errno=True)


class Bait(Protocol):
    @property
    def env(self) -> Mapping[str, str]: ...

    def was_taken(self) -> bool: ...

    def close(self) -> None: ...


_Address: TypeAlias = tuple[object, ...] | str
Maker: TypeAlias = Callable[[Scene], Bait]


@final
@attrs.define(eq=False)
class Listener:
    """A socket that somebody may connect or send to."""

    env: Mapping[str, str]
    _socket: socket.socket

    @classmethod
    def on(cls, variable: str, family: int, kind: socket.SocketKind, address: _Address) -> Listener:
        sock = socket.socket(family, kind | socket.SOCK_NONBLOCK)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        name = sock.getsockname()
        if isinstance(address, str):
            os.chmod(address, 0o777) if not address.startswith("\0") else None
            return cls({variable: address.lstrip("\0")}, sock)
        return cls({variable: str(name[1])}, sock)

    def was_taken(self) -> bool:
        with suppress(BlockingIOError):
            if self._socket.type == socket.SOCK_STREAM:
                self._socket.accept()[0].close()
            else:
                self._socket.recv(4096)
            return True
        return False

    def close(self) -> None:
        self._socket.close()


_STREAM: Final = socket.SOCK_STREAM
_DATAGRAM: Final = socket.SOCK_DGRAM


def _unix(variable: str, kind: socket.SocketKind) -> Maker:
    # Paths of sockets are short: 107 bytes at most.
    return lambda scene: Listener.on(
        variable, socket.AF_UNIX, kind, str(scene.outside / variable[-5:])
    )


def _abstract(variable: str, kind: socket.SocketKind) -> Maker:
    return lambda scene: Listener.on(variable, socket.AF_UNIX, kind, f"\0{variable}-{scene.token}")


def _internet(variable: str, family: int, kind: socket.SocketKind, address: _Address) -> Maker:
    return lambda _scene: Listener.on(variable, family, kind, address)


@final
@attrs.define(eq=False)
class Handing:
    """Gives a descriptor of the canary, open for writing, to whoever calls."""

    env: Mapping[str, str]
    _socket: socket.socket
    _thread: threading.Thread

    @classmethod
    def make(cls, scene: Scene) -> Handing:
        sock = socket.socket(socket.AF_UNIX)
        path = scene.outside / "handing"
        sock.bind(str(path))
        path.chmod(0o777)
        sock.listen()
        thread = threading.Thread(target=_hand, args=(sock, scene.outside / "canary"))
        thread.start()
        return cls({"UNIX_HANDING": str(path)}, sock, thread)

    def was_taken(self) -> bool:
        return False  # whether it was used shows in the canary

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


def _hand(sock: socket.socket, canary: Path) -> None:
    with suppress(OSError):
        caller = sock.accept()[0]
        with caller, canary.open("ab") as file:
            socket.send_fds(caller, [b"x"], [file.fileno()])


@final
@attrs.define(eq=False)
class Caller:
    """Calls a port until somebody answers."""

    env: Mapping[str, str]
    _port: int
    _over: threading.Event = attrs.field(factory=threading.Event)
    _answered: threading.Event = attrs.field(factory=threading.Event)
    _thread: threading.Thread = attrs.field(init=False)

    @classmethod
    def make(cls, _scene: Scene) -> Caller:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        caller = cls({"CALLED_PORT": str(port)}, port)
        caller._thread = threading.Thread(target=caller._call)
        caller._thread.start()
        return caller

    def _call(self) -> None:
        while not self._over.wait(0.02) and not self._answered.is_set():
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as sock:
                if sock.recv(64):
                    self._answered.set()

    def was_taken(self) -> bool:
        self._answered.wait(0.2)
        return self._answered.is_set()

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@final
@attrs.define(eq=False)
class Inherited:
    """Descriptors that whoever starts a process carelessly leaves open in it."""

    env: Mapping[str, str]
    _ours: socket.socket
    _theirs: socket.socket
    _folder: int

    @classmethod
    def make(cls, scene: Scene) -> Inherited:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        folder = os.open(scene.outside, os.O_PATH | os.O_DIRECTORY)
        for descriptor in (theirs.fileno(), folder):
            os.set_inheritable(descriptor, True)
        env = {"INHERITED_SOCKET": str(theirs.fileno()), "INHERITED_FOLDER": str(folder)}
        return cls(env, ours, theirs, folder)

    def was_taken(self) -> bool:
        with suppress(BlockingIOError):
            return bool(self._ours.recv(64))
        return False

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()
        os.close(self._folder)


@final
@attrs.define(eq=False)
class SystemFive:
    """Shared memory and a message queue of the old kind, open to all."""

    env: Mapping[str, str]
    _memory: int
    _queue: int

    @classmethod
    def make(cls, scene: Scene) -> SystemFive:
        key = int(scene.token[:7], 16) + 1
        create = 0o1000 | 0o666
        memory, queue = _libc.shmget(key, 4096, create), _libc.msgget(key, create)
        if memory < 0 or queue < 0:
            raise OSError(ctypes.get_errno(), "no System V IPC")
        return cls({"IPC_KEY": str(key)}, memory, queue)

    def was_taken(self) -> bool:
        return self._was_written() or self._was_sent()

    def _was_written(self) -> bool:
        attach = _libc.shmat
        attach.restype = ctypes.c_void_p
        address = attach(self._memory, None, 0)
        written = ctypes.string_at(address, 1) != b"\0"
        _libc.shmdt(ctypes.c_void_p(address))
        return written

    def _was_sent(self) -> bool:
        return bool(_libc.msgrcv(self._queue, ctypes.create_string_buffer(64), 8, 0, 0o4000) >= 0)

    def close(self) -> None:
        _libc.shmctl(self._memory, 0, None)
        _libc.msgctl(self._queue, 0, None)


@final
@attrs.define(eq=False)
class PosixQueue:
    """A POSIX message queue, open to all."""

    env: Mapping[str, str]
    _name: bytes
    _queue: int

    @classmethod
    def make(cls, scene: Scene) -> PosixQueue:
        name = f"escape-{scene.token}".encode()
        shape = ctypes.create_string_buffer(struct.pack("llll32x", 0, 4, 64, 0))
        old = os.umask(0)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
            queue = _libc.mq_open(b"/" + name, flags, ctypes.c_uint(0o666), shape)
        finally:
            os.umask(old)
        if queue < 0:
            raise OSError(ctypes.get_errno(), "no POSIX message queues")
        return cls({"QUEUE": name.decode()}, name, queue)

    def was_taken(self) -> bool:
        return bool(_libc.mq_receive(self._queue, ctypes.create_string_buffer(64), 64, None) >= 0)

    def close(self) -> None:
        _libc.mq_close(self._queue)
        _libc.mq_unlink(b"/" + self._name)


@final
@attrs.define(eq=False)
class Terminal:
    """Somebody's terminal; also open in the process outside."""

    env: Mapping[str, str]
    _master: int
    _slave: int

    @classmethod
    def make(cls, scene: Scene) -> Terminal:
        master, slave = os.openpty()
        tty.setraw(slave)
        os.chown(slave, scene.outside.stat().st_uid, -1)
        return cls({"TERMINAL": os.ttyname(slave)}, master, slave)

    def was_taken(self) -> bool:
        return bool(select.select([self._master, self._slave], [], [], 0)[0])

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)


@final
@attrs.define(eq=False)
class Words:
    """Variables that are no bait by themselves."""

    env: Mapping[str, str]

    def was_taken(self) -> bool:
        return False

    def close(self) -> None:
        pass


def _programs(scene: Scene) -> Bait:
    return Words(
        {
            "SETUID_TOUCH": str(scene.outside / "setuid-touch"),
            "CAPABLE_TOUCH": str(scene.outside / "capable-touch"),
            "UTS": os.readlink("/proc/self/ns/uts"),
        }
    )


MAKERS: Final[Mapping[str, Maker]] = {
    "TCP_PORT": _internet("TCP_PORT", socket.AF_INET, _STREAM, ("127.0.0.1", 0)),
    "TCP6_PORT": _internet("TCP6_PORT", socket.AF_INET6, _STREAM, ("::1", 0)),
    "UDP_PORT": _internet("UDP_PORT", socket.AF_INET, _DATAGRAM, ("127.0.0.1", 0)),
    "VSOCK_PORT": _internet(
        "VSOCK_PORT", socket.AF_VSOCK, _STREAM, (socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY)
    ),
    "UNIX_SOCKET": _unix("UNIX_SOCKET", _STREAM),
    "UNIX_DATAGRAM": _unix("UNIX_DATAGRAM", _DATAGRAM),
    'ABSTRACT"': _abstract("ABSTRACT", _STREAM),
    "ABSTRACT_DATAGRAM": _abstract("ABSTRACT_DATAGRAM", _DATAGRAM),
    "UNIX_HANDING": Handing.make,
    "CALLED_PORT": Caller.make,
    "INHERITED": Inherited.make,
    "IPC_KEY": SystemFive.make,
    "QUEUE": PosixQueue.make,
    "TERMINAL": Terminal.make,
    "TOUCH": _programs,
    "UTS": _programs,
}


@contextmanager
def put_out(attempt: Attempt, scene: Scene) -> Iterator[tuple[Bait, ...]]:
    """Put out what the attempt's script looks for; what the machine has not is left out."""
    with ExitStack() as stack:
        baits: list[Bait] = []
        for name, make in MAKERS.items():
            if attempt.uses(name):
                with suppress(OSError):
                    baits.append(make(scene))
                    stack.callback(baits[-1].close)
        if attempt.uses("VICTIM"):
            terminal = next((bait.env["TERMINAL"] for bait in baits if "TERMINAL" in bait.env), "")
            baits.append(Victim.make(scene, terminal))
            stack.callback(baits[-1].close)
        yield tuple(baits)
