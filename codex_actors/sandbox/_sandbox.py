"""What stands between a command and the machine."""

from __future__ import annotations

from typing import Protocol

from ..protocol import SandboxPolicy
from ._spec import ProcessSpec


class Sandbox(Protocol):
    """Rewrites a command so that it runs under a policy."""

    def confine(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        """Return what to start instead of ``spec``.

        Raises:
            SandboxRefused: if this sandbox cannot enforce ``policy``. It never
                enforces less than was asked.
        """
        ...
