"""No sandbox, and no pretence of one."""

from __future__ import annotations

from typing import assert_never, final

import attrs

from ..protocol import DangerFullAccess, ExternalSandbox, ReadOnly, SandboxPolicy, WorkspaceWrite
from ._errors import SandboxRefused
from ._spec import ProcessSpec


@final
@attrs.frozen
class NoSandbox:
    """Runs commands as they are, and only where the policy leaves nothing to enforce."""

    def confine(self, spec: ProcessSpec, policy: SandboxPolicy) -> ProcessSpec:
        """Return ``spec`` itself.

        Raises:
            SandboxRefused: if ``policy`` is neither danger-full-access nor
                an external sandbox, which somebody else enforces.
        """
        match policy:
            case DangerFullAccess() | ExternalSandbox():
                return spec
            case ReadOnly():
                raise SandboxRefused(sandbox="none", policy="read-only")
            case WorkspaceWrite():
                raise SandboxRefused(sandbox="none", policy="workspace-write")
            case _:
                assert_never(policy)
