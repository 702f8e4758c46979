"""Confining with namespaces that we make ourselves."""

from __future__ import annotations

from typing import ClassVar, final

import attrs

from ..core import Reach
from ._helper import PYTHON, helper_spec
from ._machine import machine_of, refuse_if_unsafe
from ._mounts import plan_mounts, top_links
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
            SandboxRefused: if the command could change the interpreter.
        """
        root = reach.access("/")
        refuse_if_unsafe(self.name, PYTHON, reach)
        plan = plan_mounts(reach)
        job = {
            "namespaces": True,
            "root": root,
            "links": top_links() if root == "deny" else (),
            "mounts": [(mount.path, mount.kind) for mount in plan.mounts],
            "network": reach.network,
            "filter": filter_program(machine_of(self.name), network=reach.network),
            "own_session": not spec.in_session,
        }
        return attrs.evolve(helper_spec(spec, job), stand_ins=plan.stand_ins)
