"""Whether one sandbox policy allows no more than another.

From narrow to wide: read-only, workspace-write, external, full access. Within a kind, and between
kinds, the network and each writable place count on their own, so two policies may each allow what
the other does not. Held by tests/core/test_narrowing.py: every policy is within itself, what is
within the inner is within the outer, and full access is the top.
"""

from __future__ import annotations

from typing import assert_never

from ..protocol import DangerFullAccess, ExternalSandbox, ReadOnly, SandboxPolicy, WorkspaceWrite


def is_within(inner: SandboxPolicy, outer: SandboxPolicy) -> bool:
    """Return whether ``inner`` allows nothing that ``outer`` forbids.

    Both are taken to be about the same working directory. Writable roots are compared as they
    are spelled: a path below another may be a link to somewhere else, and is not within it.
    """
    if isinstance(outer, DangerFullAccess):
        return True
    if isinstance(inner, DangerFullAccess) or _network(inner) > _network(outer):
        return False
    match outer:
        case ExternalSandbox():
            return True
        case WorkspaceWrite():
            return isinstance(inner, ReadOnly) or _writes_within(inner, outer)
        case ReadOnly():
            return isinstance(inner, ReadOnly)
        case _:
            assert_never(outer)


def _writes_within(inner: SandboxPolicy, outer: WorkspaceWrite) -> bool:
    return (
        isinstance(inner, WorkspaceWrite)
        and set(inner.writable_roots) <= set(outer.writable_roots)
        and inner.exclude_tmpdir_env_var >= outer.exclude_tmpdir_env_var
        and inner.exclude_slash_tmp >= outer.exclude_slash_tmp
    )


def _network(policy: ReadOnly | WorkspaceWrite | ExternalSandbox) -> bool:
    # Some of them say it with a word, some with a switch.
    return policy.network_access in (True, "enabled")
