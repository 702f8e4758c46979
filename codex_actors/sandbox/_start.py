"""Asking the operating system for a process, and understanding its refusals."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, final

import attrs
import trio

from ._child import Child, DirectChild, start_directly
from ._errors import CouldNotStart, StartFault
from ._pty import Terminal, open_terminal, with_terminal
from ._spec import ProcessSpec

_FAULTS: Final[dict[int, StartFault]] = {
    errno.ENOENT: "missing program",
    errno.ENOTDIR: "missing program",
    errno.EACCES: "not permitted",
    errno.EPERM: "not permitted",
    errno.ENOEXEC: "not a program",
    errno.E2BIG: "too large",
    errno.EAGAIN: "no resources",
    errno.EMFILE: "no resources",
    errno.ENFILE: "no resources",
    errno.ENOMEM: "no resources",
}


@final
@attrs.frozen
class Started:
    """A process that runs, and the stream that carries its output."""

    child: Child
    stream: trio.lowlevel.FdStream


async def start(spec: ProcessSpec, env: Mapping[str, str]) -> Started:
    """Start ``spec`` in a session of its own, with ``env`` for its environment.

    Raises:
        CouldNotStart: if the system refuses; nothing is running then.

    Cancellation: only before the process exists.
    """
    with refusals_of(spec), handing_over(spec) as (argv, descriptors):
        return await (_start_in_terminal if spec.tty else _start_with_pipe)(
            attrs.evolve(spec, argv=argv), env, descriptors
        )


@contextmanager
def refusals_of(spec: ProcessSpec) -> Generator[None, None, None]:
    """Say what the system refuses as a `CouldNotStart`."""
    try:
        yield
    except OSError as exc:
        fault = _fault_of(spec, exc)
        raise _could_not_start(spec, fault, exc.strerror or str(exc)) from exc
    except ValueError as exc:
        raise _could_not_start(spec, "unspeakable arguments", str(exc)) from exc


@contextmanager
def handing_over(
    spec: ProcessSpec,
) -> Generator[tuple[tuple[str, ...], tuple[int, ...]], None, None]:
    """The command with descriptors for what is handed to it; they are open here meanwhile."""
    with ExitStack() as stack:
        numbers = {
            word: stack.enter_context(_in_memory(data)) for word, data in spec.handed.items()
        }
        argv = tuple(str(numbers.get(word, word)) for word in spec.argv)
        yield argv, tuple(numbers.values())


@contextmanager
def _in_memory(data: bytes) -> Generator[int, None, None]:
    descriptor = os.memfd_create("handed over")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


async def _start_with_pipe(
    spec: ProcessSpec, env: Mapping[str, str], descriptors: tuple[int, ...]
) -> Started:
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "cwd": spec.cwd,
        "env": env,
        "start_new_session": True,
        "pass_fds": descriptors,
    }
    if spec.confined:
        popen = start_directly(spec.argv, **options)
        assert popen.stdout is not None
        stream = trio.lowlevel.FdStream(os.dup(popen.stdout.fileno()))
        popen.stdout.close()
        return Started(DirectChild(popen), stream)
    child = await trio.lowlevel.open_process(spec.argv, **options)
    assert isinstance(child.stdout, trio.lowlevel.FdStream)
    return Started(child, child.stdout)


async def _start_in_terminal(
    spec: ProcessSpec, env: Mapping[str, str], descriptors: tuple[int, ...]
) -> Started:
    program = await trio.to_thread.run_sync(find_program, spec, env)
    terminal = open_terminal(spec)
    try:
        child = await _open_in_terminal(spec, env, program, terminal, descriptors)
    except BaseException:
        terminal.close()
        raise
    terminal.close_slave()
    return Started(child, trio.lowlevel.FdStream(terminal.master))


async def _open_in_terminal(
    spec: ProcessSpec,
    env: Mapping[str, str],
    program: str,
    terminal: Terminal,
    descriptors: tuple[int, ...],
) -> Child:
    options: dict[str, Any] = {
        **dict.fromkeys(("stdin", "stdout", "stderr"), terminal.slave),
        "cwd": spec.cwd,
        "env": env,
        "start_new_session": True,
        "pass_fds": descriptors,
    }
    if spec.confined:
        return DirectChild(start_directly(spec.argv, **options))
    argv = with_terminal(spec.argv, program, terminal)
    return await trio.lowlevel.open_process(argv, **options)


def find_program(spec: ProcessSpec, env: Mapping[str, str]) -> str:
    """The program as a path that a shell will not look up again. Blocks.

    Raises:
        CouldNotStart: if it is not there, or is none.
    """
    program = spec.argv[0]
    if "/" not in program:
        found = shutil.which(program, path=env.get("PATH", os.defpath))
        if found is None:
            raise _could_not_start(spec, "missing program", "")
        return os.path.abspath(found)
    path = os.path.join(spec.cwd, program)
    if not os.path.isdir(spec.cwd):
        raise _could_not_start(spec, "missing directory", "")
    if not os.path.exists(path):
        raise _could_not_start(spec, "missing program", "")
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise _could_not_start(spec, "not permitted", "")
    return path


def _fault_of(spec: ProcessSpec, exc: OSError) -> StartFault:
    """Popen names the directory as the culprit if entering it failed."""
    missing = exc.errno in (errno.ENOENT, errno.ENOTDIR)
    if missing and not os.path.isdir(spec.cwd):
        return "missing directory"
    return _FAULTS.get(exc.errno or 0, "other")


def _could_not_start(spec: ProcessSpec, fault: StartFault, detail: str) -> CouldNotStart:
    return CouldNotStart(program=spec.argv[0], cwd=spec.cwd, fault=fault, detail=detail)
