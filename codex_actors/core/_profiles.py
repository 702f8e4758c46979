"""What sandbox policies mean as permission profiles, and profiles in a word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, assert_never

import attrs

from ..protocol import (
    DangerFullAccess,
    DisabledProfile,
    ExternalProfile,
    ExternalSandbox,
    GlobPlace,
    ManagedProfile,
    NetworkAccess,
    PathPlace,
    PermissionEntry,
    PermissionProfile,
    Place,
    Profiled,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    SlashTmpPlace,
    TmpdirPlace,
    WorkspaceWrite,
)

Mode: TypeAlias = Literal["read-only", "workspace-write", "external-sandbox", "danger-full-access"]

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
        case Profiled(profile=profile):
            return profile
        case _:
            assert_never(policy)


def sandbox_mode(policy: SandboxPolicy) -> Mode:
    """The mode that the policy is, or is most like, as config and the model know it."""
    match policy:
        case ReadOnly():
            return "read-only"
        case WorkspaceWrite():
            return "workspace-write"
        case _:
            return _mode(profile_of(policy))


def is_confined(policy: SandboxPolicy) -> bool:
    """Whether we are the ones to confine processes under the policy."""
    return isinstance(profile_of(policy), ManagedProfile)


def denies_reading(policy: SandboxPolicy) -> bool:
    """Whether the policy names something that must not even be read."""
    match profile_of(policy):
        case ManagedProfile(entries=tuple(entries)):
            return any(entry.access == "deny" for entry in entries)
        case _:
            return False


def lets_write(policy: SandboxPolicy) -> bool:
    """Whether any file can be changed under the policy."""
    return sandbox_mode(policy) != "read-only"


def move_profile(profile: ManagedProfile, old: str, new: str) -> ManagedProfile:
    """Return the profile of somebody who works elsewhere; it allows no more there than before.

    What it says of the project is then about the new root. What it kept from being read or
    written below the old one stays kept.

    Args:
        profile: Of whoever works in ``old``.
        old: The root of its project; absolute.
        new: The root that it gets.
    """
    entries = profile.entries
    if entries is None or old == new:
        return profile
    kept = (
        attrs.evolve(entry, place=place_at(entry.place, old))
        for entry in entries
        if entry.access != "write" and _is_of_project(entry.place)
    )
    return attrs.evolve(profile, entries=tuple(dict.fromkeys((*entries, *kept))))


def with_denied(policy: SandboxPolicy, outer: SandboxPolicy, cwd: str) -> SandboxPolicy:
    """Return a policy that names no places, with what a profile around it denies.

    Args:
        policy: Of somebody who works under ``outer``.
        outer: What it is to be within.
        cwd: The root of the project that ``outer`` is about.
    """
    inside, around = profile_of(policy), profile_of(outer)
    if isinstance(policy, Profiled) or not isinstance(inside, ManagedProfile):
        return policy
    if not isinstance(around, ManagedProfile):
        return policy
    denied = tuple(
        attrs.evolve(entry, place=place_at(entry.place, cwd))
        for entry in around.entries or ()
        if entry.access == "deny"
    )
    profile = attrs.evolve(
        inside,
        entries=(*(inside.entries or ()), *denied),
        glob_scan_max_depth=around.glob_scan_max_depth,
    )
    return Profiled(profile=profile) if denied else policy


def add_roots(profile: PermissionProfile, roots: Iterable[str]) -> PermissionProfile:
    """Return the profile of a project that has further roots, which are absolute."""
    if not isinstance(profile, ManagedProfile) or profile.entries is None:
        return profile
    added = (
        attrs.evolve(entry, place=place_at(entry.place, root))
        for root in roots
        for entry in profile.entries
        if _is_of_project(entry.place)
    )
    return attrs.evolve(profile, entries=tuple(dict.fromkeys((*profile.entries, *added))))


def _is_of_project(place: Place) -> bool:
    return place != place_at(place, "/")


def place_at(place: Place, root: str) -> Place:
    """Return the place as it is for a project at ``root``, which is absolute."""
    match place:
        case ProjectPlace(subpath):
            return PathPlace(_below(root, subpath or ""))
        case GlobPlace(pattern) if not pattern.startswith("/"):
            return GlobPlace(_below(root, pattern))
        case _:
            return place


def _below(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}".rstrip("/") or "/"


def _mode(profile: PermissionProfile) -> Mode:
    match profile:
        case DisabledProfile():
            return "danger-full-access"
        case ExternalProfile():
            return "external-sandbox"
        case ManagedProfile(entries=entries):
            writes = entries is None or any(entry.access == "write" for entry in entries)
            return "workspace-write" if writes else "read-only"
        case _:
            assert_never(profile)


def _written(policy: WorkspaceWrite) -> list[Place]:
    places: list[Place] = [ProjectPlace(), *map(PathPlace, policy.writable_roots)]
    if not policy.exclude_slash_tmp:
        places.append(SlashTmpPlace())
    if not policy.exclude_tmpdir_env_var:
        places.append(TmpdirPlace())
    return places


def _word(*, on: bool) -> NetworkAccess:
    return "enabled" if on else "restricted"
