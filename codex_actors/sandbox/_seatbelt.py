"""Confining on macOS, with the profile language of its own sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, final

import attrs

from ..core import Reach, ReachRule
from ._machine import refuse_patterns
from ._spec import ProcessSpec

_PROGRAM: Final = "/usr/bin/sandbox-exec"
_BASE: Final = (
    "(version 1)",
    "(deny default)",
    "(allow process-exec)",
    "(allow process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow mach-lookup)",
    "(allow ipc-posix-sem)",
    "(allow ipc-posix-shm*)",
    "(allow pseudo-tty)",
    '(allow file-read* file-write* file-ioctl (regex #"^/dev/(tty|ptmx|null|zero|ttys[0-9]+)$"))',
)
_NETWORK: Final = ("(allow network*)", "(allow system-socket)")


@final
@attrs.frozen
class Seatbelt:
    """Runs commands under ``sandbox-exec``."""

    name: ClassVar[str] = "seatbelt"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return ``sandbox-exec`` with a profile for ``reach``.

        Raises:
            SandboxRefused: if nobody has looked for what the patterns match.
        """
        refuse_patterns(self.name, reach)
        return attrs.evolve(spec, argv=(_PROGRAM, "-p", seatbelt_profile(reach), "--", *spec.argv))


def seatbelt_profile(reach: Reach) -> str:
    """Return the profile; of two lines that match, the later one counts."""
    lines = [*_BASE, *(_NETWORK if reach.network else ())]
    for rule in reach.rules:
        lines += _lines(rule)
    return "\n".join(lines)


def _lines(rule: ReachRule) -> Iterator[str]:
    place = f"(subpath {_quoted(rule.path)})"
    match rule.access:
        case "write":
            yield f"(allow file-read* file-write* {place})"
        case "read":
            yield f"(allow file-read* {place})"
            yield f"(deny file-write* {place})"
        case "deny":
            yield f"(deny file-read* file-write* {place})"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
