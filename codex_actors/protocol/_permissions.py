"""When to ask, and what a process may touch."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ._profiles import PermissionProfile


@attrs.frozen(kw_only=True)
class Granular:
    """Asking, switched per kind of question: False rejects that kind without asking."""

    sandbox_approval: bool
    rules: bool
    skill_approval: bool = False
    request_permissions: bool = False
    mcp_elicitations: bool = False


ApprovalPolicy: TypeAlias = Literal["untrusted", "on-request", "on-failure", "never"] | Granular


@attrs.frozen
class DangerFullAccess:
    """No sandbox at all."""


@attrs.frozen(kw_only=True)
class ReadOnly:
    """Read everything, write nothing."""

    network_access: bool = False


@attrs.frozen(kw_only=True)
class ExternalSandbox:
    """Somebody else confines the whole program."""

    network_access: Literal["restricted", "enabled"] = "restricted"


@attrs.frozen(kw_only=True)
class WorkspaceWrite:
    """Read everything; write below the working directory and these roots."""

    writable_roots: tuple[str, ...] = ()
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


@attrs.frozen(kw_only=True)
class ActiveProfile:
    """Where a permission profile came from."""

    id: str
    """Its name in config; those that begin with a colon are built in."""
    extends: str | None = None


@attrs.frozen(kw_only=True)
class Profiled:
    """What a permission profile says, place by place."""

    profile: PermissionProfile
    active: ActiveProfile | None = None
    """None: nobody gave it a name."""


SandboxPolicy: TypeAlias = DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite | Profiled
SandboxMode: TypeAlias = Literal["read-only", "workspace-write", "danger-full-access"]
