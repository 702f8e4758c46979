"""What stands between a command and the machine."""

from __future__ import annotations

from typing import Protocol

from ..core import Reach
from ._spec import ProcessSpec


class Sandbox(Protocol):
    """Rewrites a command so that it reaches no farther than it may."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return what to start instead of ``spec``. Looks at the disk: call it in a thread.

        Raises:
            SandboxRefused: if this sandbox cannot enforce ``reach``. It never
                enforces less than was asked.
        """
        ...
