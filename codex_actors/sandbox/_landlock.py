"""Confining with Landlock, which needs no namespaces."""

from __future__ import annotations

from typing import ClassVar, final

import attrs

from ..core import Reach
from ._errors import SandboxRefused
from ._helper import PYTHON, helper_spec
from ._machine import machine_of, refuse_if_unsafe
from ._seccomp import filter_program
from ._spec import ProcessSpec


@final
@attrs.frozen
class Landlock:
    """Runs commands that the kernel lets read and write below some paths only.

    Where the disk may not be read, it still tells what is there and how large. Landlock adds up what is allowed: nothing below a path that is allowed can be forbidden. What
    files are like (modes, owners, times) it does not know; where not everything may be written,
    the filter lets none of that be changed.
    """

    name: ClassVar[str] = "landlock"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return an interpreter that starts the command restricted, and ends with all of it.

        Raises:
            SandboxRefused: if something may not be read below a readable path, or not be
                written below a writable one; or if the command could change the interpreter.
        """
        for reason in _obstacles(reach):
            raise SandboxRefused(sandbox=self.name, reason=reason)
        refuse_if_unsafe(self.name, PYTHON, reach)
        everywhere = reach.writes_everywhere
        job = {
            "namespaces": False,
            "writable": None if everywhere else list(reach.writable),
            "readable": list(reach.readable) if reach.access("/") == "deny" else None,
            "filter": filter_program(
                machine_of(self.name), network=reach.network, metadata=everywhere, shared=False
            ),
            "own_session": not spec.in_session,
        }
        return helper_spec(spec, job)


def _obstacles(reach: Reach) -> list[str]:
    found = [f"it cannot keep {path!r} from being read" for path in reach.denied]
    found += [f"it cannot protect {path!r} below what is writable" for path in reach.protected]
    return found
