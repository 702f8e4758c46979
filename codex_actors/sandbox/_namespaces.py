"""Confining with namespaces that we make ourselves."""

from __future__ import annotations

from typing import ClassVar, final

import attrs

from ..core import Reach
from ._errors import SandboxRefused
from ._helper import PYTHON, helper_spec
from ._machine import machine_of, refuse_if_writable
from ._mounts import plan_mounts
from ._seccomp import filter_program
from ._spec import ProcessSpec


@final
@attrs.frozen
class Namespaces:
    """Runs commands in user, mount, process, ipc and network namespaces of their own."""

    name: ClassVar[str] = "namespaces"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return an interpreter that makes the namespaces and becomes the command.

        Raises:
            SandboxRefused: if only some of the disk may be read, or the command could change
                the interpreter.
        """
        root = reach.access("/")
        if root == "deny":
            raise SandboxRefused(sandbox=self.name, reason="only parts of the disk may be read")
        refuse_if_writable(self.name, PYTHON, reach)
        plan = plan_mounts(reach)
        job = {
            "namespaces": True,
            "root": root,
            "mounts": [(mount.path, mount.kind) for mount in plan.mounts],
            "network": reach.network,
            "filter": filter_program(machine_of(self.name), network=reach.network),
            "own_session": not spec.in_session,
        }
        return attrs.evolve(helper_spec(spec, job), stand_ins=plan.stand_ins)
