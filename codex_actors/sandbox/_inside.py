"""What our own sandboxes do in the new process, before it becomes the command.

This module runs in an interpreter of its own, without the rest of the package but `_kernel`: of
the standard library little may be imported here, for each import is waited for. Kernel structures
and constants are from <linux/landlock.h>, <linux/sched.h>, <linux/prctl.h> and
<linux/capability.h>.
"""

from __future__ import annotations

# `signal`, `typing` and `ctypes` would take longer to import than all that is done here: what they
# are made of will do. Stubs do not know what `signal` is made of.
import _ctypes
import _signal as signal  # type: ignore[import-not-found]
import os
import struct

from ._kernel import Char, attach, call, check, clone, find, libc, mount, set_read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

# A shell's word for a program that could not be run.
_NOT_RUN: Final = 126

_NEW_NS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (
    *(0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000),
)
# Numbers of system calls that every machine shares.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_NO_EXEC: Final = 0x8
_PRIVATE: Final = 1 << 18
_WHOLE_TREE: Final = 1 << 14

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")

_FOR_THE_GROUP: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP)


def main(job: dict[str, Any]) -> None:
    """Confine this process as the job says, and become its command. Never returns."""
    try:
        (_run_in_namespaces if job["namespaces"] else _run_under_landlock)(job)
    except OSError as error:
        where = f" at {error.filename!r}" if error.filename else ""
        os.write(2, f"codex-actors: cannot confine{where}: {error.strerror}\n".encode())
    os._exit(_NOT_RUN)


def _run_in_namespaces(job: dict[str, Any]) -> None:
    _die_with_parent()
    uid, gid = os.getuid(), os.getgid()
    network = 0 if job["network"] else _NEW_NET
    check(libc.unshare(_NEW_USER | _NEW_NS | _NEW_PID | _NEW_IPC | network))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    init = _fork()
    if init:
        _close_all()
        os._exit(_status(os.waitpid(init, 0)[1]))
    _die_with_parent()
    _arrange(job)
    os.chdir(job["cwd"])
    _give_up_rights()
    command = os.fork()
    if command:
        _close_all()
        _reap_until(command)
    _take_terminal(job)
    _become(job)


def _run_under_landlock(job: dict[str, Any]) -> None:
    # Orphans come here, so that nobody below gets away, whatever he has thrown off.
    check(libc.prctl(36, 1, 0, 0, 0))
    signal.signal(signal.SIGTERM, _end_with_all)
    _die_with_parent(signal.SIGTERM)
    command = _fork()
    if command:
        _close_all()
        _wait_and_end_others(command)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    _give_up_rights()
    _take_terminal(job)
    if job["writable"] is not None:
        _restrict(job["writable"], job["readable"])
    _become(job)


def _become(job: dict[str, Any]) -> None:
    _filter(job["filter"])
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):  # what Python ignores, a program does not
        signal.signal(signum, signal.SIG_DFL)
    try:
        os.execvpe(job["argv"][0], job["argv"], os.environ)
    except OSError as error:
        error.filename = job["argv"][0]
        raise


def _take_terminal(job: dict[str, Any]) -> None:
    """Lead a session of its own, so that Ctrl-C ends the command and not what confines it."""
    if job["own_session"]:
        os.setsid()
    if job["terminal"]:
        terminal = os.open("/dev/console" if job["namespaces"] else os.ttyname(0), os.O_RDWR)
        for descriptor in range(3):
            os.dup2(terminal, descriptor)


def _arrange(job: dict[str, Any]) -> None:
    """Put everything where the command will see it; all is taken before anything is covered."""
    check(libc.mount(None, b"/", None, _PRIVATE | _WHOLE_TREE, None))
    trees = [(path, kind, _take(path, kind)) for path, kind in job["mounts"]]
    devices = [(name, clone(find(f"/dev/{name}"))) for name in _DEVICES]
    terminal = clone(find(os.ttyname(0))) if job["terminal"] else None
    if job["root"] == "read":
        set_read_only(find("/"))
    _make_devices(devices, terminal)
    _make_proc()
    if job["root"] == "deny":
        shown = [(path, os.path.isdir(path)) for path, _, tree in trees if tree is not None]
        _show_only(shown, job["links"])
    for path, _, tree in trees:
        if tree is not None:
            attach(tree, path)


def _show_only(shown: list[tuple[str, bool]], links: list[tuple[str, str]]) -> None:
    """Put an empty disk in the place of the whole one, with room for what is to be seen."""
    made = [(path, clone(find(path))) for path in ("/dev", "/proc")]
    mount("tmpfs", "/dev", b"mode=755,size=4m")
    os.chdir("/dev")
    check(libc.pivot_root(b".", b"."))
    check(libc.umount2(b".", 2))
    os.chdir("/")
    for path, target in links:
        os.symlink(target, path)
    for path, is_folder in [("/dev", True), ("/proc", True), *shown]:
        if is_folder:
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _touch(path)
    set_read_only(find("/"))
    for path, tree in made:
        attach(tree, path)


def _take(path: str, kind: str) -> int | None:
    """A copy of what is to be seen at a path; None if nothing is there."""
    try:
        found = find(path)
    except FileNotFoundError:
        return None
    if kind == "hide":
        return _nothing(os.path.isdir(path))
    tree = clone(found)
    if kind == "read":
        set_read_only(tree)
    return tree


def _nothing(is_folder: bool) -> int:  # noqa: FBT001 - called once, by position
    """A mount of something empty that nobody may read."""
    mount("tmpfs", "/dev", b"mode=000,size=4k" if is_folder else b"mode=755,size=4k")
    path = "/dev"
    if not is_folder:
        path = "/dev/nothing"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0))
    tree = clone(find(path))
    check(libc.umount2(b"/dev", 2))
    set_read_only(tree)
    return tree


def _make_devices(devices: list[tuple[str, int]], terminal: int | None) -> None:
    mount("tmpfs", "/dev", b"mode=755,size=256m")
    for name, device in devices:
        _touch(f"/dev/{name}")
        attach(device, f"/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")
    os.chmod("/dev/shm", 0o1777)  # noqa: S103, S108 - as every /dev/shm is
    mount("devpts", "/dev/pts", b"newinstance,ptmxmode=0666,mode=620", _NO_EXEC)
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "core": "/proc/kcore"}
    streams = {name: f"/proc/self/fd/{i}" for i, name in enumerate(("stdin", "stdout", "stderr"))}
    for name, target in {**links, **streams}.items():
        os.symlink(target, f"/dev/{name}")
    if terminal is not None:
        _touch("/dev/console")
        attach(terminal, "/dev/console")


def _make_proc() -> None:
    """The processes of this namespace only; and none of the switches for the whole machine."""
    mount("proc", "/proc", None, _NO_EXEC)
    for name in ("sys", "sysrq-trigger", "irq", "bus", "fs"):
        path = f"/proc/{name}"
        if os.path.lexists(path):
            tree = clone(find(path))
            set_read_only(tree)
            attach(tree, path)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))


def _restrict(writable: list[str], readable: list[str] | None) -> None:
    """Let nothing be written but what is below these, and the harmless devices; nor be read."""
    abi = check(call(_CREATE_RULESET, None, 0, 1))
    written = sum(1 << bit for bit in (1, *range(4, 13)))
    written |= sum(1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if abi >= since)
    read = 0 if readable is None else 1 << 0 | 1 << 2 | 1 << 3
    handled = written | read
    # Abstract sockets and signals stay below; from version 6 on.
    ruleset = struct.pack("=QQQ", handled, 0, 3) if abi >= 6 else struct.pack("=Q", handled)
    rules = check(call(_CREATE_RULESET, ruleset, len(ruleset), 0))
    for path in readable or ():
        _allow(rules, path, read)
    for path in writable:
        _allow(rules, path, handled)
    for name in _DEVICES:
        _allow(rules, f"/dev/{name}", handled & ~(1 << 0))
    check(call(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        found = find(path)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        rights &= 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
    check(call(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, found), 0), path)
    os.close(found)


def _give_up_rights() -> None:
    """Have no capability, and get none by running a program."""
    for capability in range(64):
        if libc.prctl(24, capability, 0, 0, 0):
            break  # it was the last, or there were none
    check(libc.prctl(38, 1, 0, 0, 0))
    check(libc.capset(struct.pack("=II", 0x20080522, 0), bytes(24)))


def _filter(lines: bytes) -> None:
    kept = (Char * len(lines)).from_buffer_copy(lines)
    program = struct.pack("@HP", len(lines) // 8, _ctypes.addressof(kept))
    check(libc.prctl(22, 2, program, 0, 0))


def _fork() -> int:
    """Fork, and let the child alone be told what the group is told.

    Whoever signals the group means the command; the parent lives on to tell how it ended.
    """
    before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in _FOR_THE_GROUP}
    child = os.fork()
    if not child:
        for signum, handler in before.items():
            signal.signal(signum, signal.SIG_IGN if handler == signal.SIG_IGN else signal.SIG_DFL)
    return child


def _die_with_parent(signum: int = signal.SIGKILL) -> None:
    parent = os.getppid()
    check(libc.prctl(1, signum, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(_NOT_RUN)  # it died before


def _reap_until(command: int) -> None:
    """Be the parent of orphans, and end with the command; the kernel then ends the others."""
    while True:
        pid, status = os.wait()
        if pid == command:
            os._exit(_status(status))


def _wait_and_end_others(command: int) -> None:
    """Do for the command what a namespace of processes would do: nobody outlives it."""
    while (ended := os.wait())[0] != command:
        pass
    _end_others()
    os._exit(_status(ended[1]))


def _end_with_all(signum: int, _frame: object) -> None:
    """End now, with everybody: the program has died, or somebody wants it."""
    _end_others()
    os._exit(128 + signum)


def _end_others() -> None:
    """Kill whoever is below until nobody is; whoever loses his parent meanwhile comes here."""
    try:
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                _kill_below()
                os.wait()
    except ChildProcessError:
        return


def _kill_below() -> None:
    found = {int(name): _origin(name) for name in os.listdir("/proc") if name.isdecimal()}
    below = {os.getpid()}
    while more := {pid for pid, (up, _) in found.items() if up in below} - below:
        below |= more
    for pid in below - {os.getpid()}:
        _kill(pid, found[pid])


def _kill(pid: int, origin: tuple[int, bytes]) -> None:
    """Kill this very process, and nobody who has got its number since."""
    try:
        handle = os.pidfd_open(pid)
        if _origin(str(pid))[1:] == origin[1:]:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
    except ProcessLookupError:
        return


def _origin(pid: str) -> tuple[int, bytes]:
    """Whose child a process is, and when it began."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, b""
    return int(fields[1]), fields[19]


def _status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _close_all() -> None:
    """Keep nobody waiting for the end of a pipe that the command has closed."""
    os.closerange(0, 1024)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)
