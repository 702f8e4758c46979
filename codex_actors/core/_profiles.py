"""What sandbox policies mean as permission profiles."""

from __future__ import annotations

from typing import Final, assert_never

from ..protocol import (
    DangerFullAccess,
    DisabledProfile,
    ExternalProfile,
    ExternalSandbox,
    ManagedProfile,
    NetworkAccess,
    PathPlace,
    PermissionEntry,
    PermissionProfile,
    Place,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    SlashTmpPlace,
    TmpdirPlace,
    WorkspaceWrite,
)

_EVERYTHING_READ: Final = PermissionEntry(place=RootPlace(), access="read")


def profile_of(policy: SandboxPolicy) -> PermissionProfile:
    """Return the permission profile that means the same as the policy."""
    match policy:
        case DangerFullAccess():
            return DisabledProfile()
        case ExternalSandbox(network_access=network):
            return ExternalProfile(network=network)
        case ReadOnly(network_access=network):
            return ManagedProfile(entries=(_EVERYTHING_READ,), network=_word(on=network))
        case WorkspaceWrite(network_access=network):
            written = (PermissionEntry(place=place, access="write") for place in _written(policy))
            return ManagedProfile(entries=(_EVERYTHING_READ, *written), network=_word(on=network))
        case _:
            assert_never(policy)


def _written(policy: WorkspaceWrite) -> list[Place]:
    places: list[Place] = [ProjectPlace(), *map(PathPlace, policy.writable_roots)]
    if not policy.exclude_slash_tmp:
        places.append(SlashTmpPlace())
    if not policy.exclude_tmpdir_env_var:
        places.append(TmpdirPlace())
    return places


def _word(*, on: bool) -> NetworkAccess:
    return "enabled" if on else "restricted"
