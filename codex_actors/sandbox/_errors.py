"""What can go wrong with a process, as far as the caller can do something about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, final

from .._errors import CodexActorsError

StartFault: TypeAlias = Literal[
    "missing program",
    "missing directory",
    "not permitted",
    "not a program",
    "unspeakable arguments",
    "too large",
    "no resources",
    "other",
]
"""Why a process did not start; each has its own remedy in the message of `CouldNotStart`."""

_FACTS: dict[StartFault, str] = {
    "missing program": "program {program!r} does not exist; check its spelling and PATH",
    "missing directory": "cannot run {program!r} in {cwd!r}, which is no directory; create it"
    " or choose another one",
    "not permitted": "not permitted to run {program!r} in {cwd!r}; check that the file is"
    " executable and the directory accessible",
    "not a program": "{program!r} is not a program that this system can run; check its format"
    " and its first line",
    "unspeakable arguments": "cannot run {program!r}: an argument or a variable holds a null"
    " byte, or a variable's name is empty or holds '='; remove it",
    "too large": "arguments and environment of {program!r} are too large for this system; pass"
    " the data in a file",
    "no resources": "no memory, descriptors or process slots left to run {program!r}; end"
    " something else first",
    "other": "cannot run {program!r} in {cwd!r}: {detail}",
}


class ProcessError(CodexActorsError):
    """A process could not be started or used."""


@final
class CouldNotStart(ProcessError):
    """The operating system refused to start the program; nothing is running."""

    def __init__(self, *, program: str, cwd: str, fault: StartFault, detail: str = "") -> None:
        super().__init__(_FACTS[fault].format(program=program, cwd=cwd, detail=detail))
        self.program = program
        self.cwd = cwd
        self.fault: StartFault = fault
        self.detail = detail


@final
class CannotTakeNotes(ProcessError):
    """What runs cannot be noted for whoever would look for it if this program were killed."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(
            f"running processes cannot be noted in {directory!r}: {reason}; make it a directory"
            " that can be written, or let it be created"
        )
        self.directory = directory
        self.reason = reason


@final
class ProcessesClosed(ProcessError):
    """The scope that would own the process has been left."""

    def __init__(self, program: str) -> None:
        super().__init__(
            f"cannot start {program!r}: its agent is closing; start it under another agent"
        )
        self.program = program


@final
class ProcessesCrashed(ProcessError):
    """A task that served the processes failed; all of them were killed. See ``__cause__``."""

    def __init__(self) -> None:
        super().__init__("a task that served the agent's processes failed; see the cause")


@final
class NoTerminal(ProcessError):
    """Somebody wrote to a process whose standard input is closed."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"the input of process {pid} is closed; start it with tty=True to write")
        self.pid = pid


@final
class ProcessEnded(ProcessError):
    """Somebody wrote to a process that has ended, or hung up its terminal."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} has ended and reads no more; start it again")
        self.pid = pid


@final
class ProcessSurvived(ProcessError):
    """The process could not be killed, so it has no exit code."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} could not be killed; end it by hand")
        self.pid = pid


@final
class SandboxRefused(ProcessError):
    """A sandbox cannot enforce what it was asked to; nothing was started."""

    def __init__(self, *, sandbox: str, reason: str) -> None:
        super().__init__(
            f"sandbox {sandbox!r} cannot enforce the policy: {reason}; choose a sandbox that can,"
            " or danger-full-access"
        )
        self.sandbox = sandbox
        self.reason = reason


@final
class NoSandboxWorks(ProcessError):
    """Nothing on this machine can enforce the policy; nothing was started."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        tried = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        super().__init__(
            f"commands cannot be confined on this machine ({tried}); install bubblewrap, or allow"
            " unprivileged user namespaces, or run it where nothing can be harmed and ask for"
            " danger-full-access"
        )
        self.reasons = dict(reasons)


@final
class PatternAllows(ProcessError):
    """A permission profile allows what a pattern matches, which nothing here can enforce."""

    def __init__(self, pattern: str, access: str) -> None:
        super().__init__(
            f"the permission profile gives {access} access by the pattern {pattern!r}, but"
            " patterns can only deny; name the paths one by one"
        )
        self.pattern = pattern
        self.access = access


@final
class TooMuchToScan(ProcessError):
    """More lies below a pattern's first folder than is looked through before each command."""

    def __init__(self, pattern: str, base: str, most: int) -> None:
        super().__init__(
            f"the pattern {pattern!r} cannot be enforced: {base!r} has more than {most:,} files"
            " and folders below it; set glob_scan_max_depth, or write a narrower pattern"
        )
        self.pattern = pattern
        self.base = base
        self.most = most
