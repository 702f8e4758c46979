"""What the model is told of the places that a permission profile names.

The tags are the reference's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.sax.saxutils import escape

from ..protocol import (
    DisabledProfile,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    Place,
    Profiled,
    ProjectPlace,
    RootPlace,
    SandboxPolicy,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)
from ._profiles import place_at, profile_of


def filesystem_line(policy: SandboxPolicy, cwd: str) -> str:
    """Return what the mode's words do not say of a policy; empty if there is nothing."""
    match profile_of(policy):
        case DisabledProfile():
            inner = '<permission_profile type="disabled"><file_system type="unrestricted" />'
        case ManagedProfile(entries=tuple(entries)) if isinstance(policy, Profiled):
            inner = '<permission_profile type="managed"><file_system type="restricted">'
            inner += "".join(_entry(entry, cwd) for entry in entries) + "</file_system>"
        case _:
            return ""
    return (
        f"  <filesystem><workspace_roots><root>{escape(cwd)}</root></workspace_roots>"
        f"{inner}</permission_profile></filesystem>"
    )


def _entry(entry: PermissionEntry, cwd: str) -> str:
    fixed = ' escalatable="false"' if entry.access == "deny" else ""
    return f'<entry access="{entry.access}"{fixed}>{_place(place_at(entry.place, cwd))}</entry>'


def _place(place: Place) -> str:
    match place:
        case PathPlace(path):
            return f"<path>{escape(path)}</path>"
        case GlobPlace(pattern):
            return f"<glob>{escape(pattern)}</glob>"
        case UnknownPlace(path=path):
            return f"<special>{escape(path)}</special>"
        case _:
            return f"<special>{_SPECIAL[type(place)]}</special>"


_SPECIAL: Final[Mapping[type[Place], str]] = {
    RootPlace: ":root",
    MinimalPlace: ":minimal",
    ProjectPlace: ":workspace_roots",
    TmpdirPlace: ":tmpdir",
    SlashTmpPlace: ":slash_tmp",
}
