"""Permission profiles: what a process may touch, place by place.

A profile says more than a sandbox policy can: it may name folders that are not to be read.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Access: TypeAlias = Literal["read", "write", "deny"]
NetworkAccess: TypeAlias = Literal["restricted", "enabled"]


@attrs.frozen
class PathPlace:
    """A file or folder, by its path."""

    path: str


@attrs.frozen
class GlobPlace:
    """Every path that a pattern matches, with all below it."""

    pattern: str
    """As `codex_actors.core.PathPattern` reads it; a relative one starts at the project's root."""


@attrs.frozen
class RootPlace:
    """The whole disk."""


@attrs.frozen
class MinimalPlace:
    """What nearly every program reads: the system's own programs and libraries."""


@attrs.frozen
class ProjectPlace:
    """Each root of the workspace, or something below each."""

    subpath: str | None = None


@attrs.frozen
class TmpdirPlace:
    """Where ``$TMPDIR`` points."""


@attrs.frozen
class SlashTmpPlace:
    """``/tmp``."""


@attrs.frozen(kw_only=True)
class UnknownPlace:
    """A place whose meaning is not known here, as it was spelled."""

    path: str
    subpath: str | None = None


Place: TypeAlias = (
    PathPlace
    | GlobPlace
    | RootPlace
    | MinimalPlace
    | ProjectPlace
    | TmpdirPlace
    | SlashTmpPlace
    | UnknownPlace
)


@attrs.frozen(kw_only=True)
class PermissionEntry:
    """What may be done with one place."""

    place: Place
    access: Access
    missing_path_behavior: Literal["skip"] | None = None
    """``skip``: the entry counts only if its path exists."""


@attrs.frozen(kw_only=True)
class ManagedProfile:
    """We confine the process."""

    entries: tuple[PermissionEntry, ...] | None = ()
    """What may be done where; None: everything, everywhere."""
    network: NetworkAccess = "restricted"
    glob_scan_max_depth: int | None = None
    """How many folders deep patterns are looked for."""


@attrs.frozen
class DisabledProfile:
    """No sandbox at all."""


@attrs.frozen(kw_only=True)
class ExternalProfile:
    """Somebody else confines the whole program."""

    network: NetworkAccess = "restricted"


PermissionProfile: TypeAlias = ManagedProfile | DisabledProfile | ExternalProfile
