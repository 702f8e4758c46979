"""No sandbox, and no pretence of one."""

from __future__ import annotations

from typing import ClassVar, final

import attrs

from ..core import Reach
from ._errors import SandboxRefused
from ._spec import ProcessSpec


@final
@attrs.frozen
class NoSandbox:
    """Runs commands as they are, and only where there is nothing to enforce."""

    name: ClassVar[str] = "none"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        """Return ``spec`` itself.

        Raises:
            SandboxRefused: if ``reach`` has any limit.
        """
        if not reach.is_unconfined:
            raise SandboxRefused(sandbox=self.name, reason="it enforces nothing")
        return spec
