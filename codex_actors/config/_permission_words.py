"""What a policy allows, in a line for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ..core import profile_of, sandbox_mode
from ..protocol import (
    Access,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    Place,
    Profiled,
    ProjectPlace,
    RootPlace,
    SandboxPolicy,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)

_ORDER: Final[tuple[Access, ...]] = ("write", "read", "deny")
_SPECIAL: Final[Mapping[type[Place], str]] = {
    RootPlace: ":root",
    MinimalPlace: ":minimal",
    TmpdirPlace: ":tmpdir",
    SlashTmpPlace: ":slash_tmp",
}


def permission_words(policy: SandboxPolicy) -> str:
    """Return what a policy lets commands do: its name, its files, its network."""
    match policy:
        case Profiled(profile=ManagedProfile() as profile, active=active):
            name = "" if active is None else active.id
            extended = "" if active is None or active.extends is None else f" on {active.extends}"
            said = "; ".join((*_files(profile), f"network {profile.network}"))
            return f"{name}{extended}: {said}".lstrip(": ")
        case Profiled(active=active) if active is not None:
            return active.id
        case _:
            profile_ = profile_of(policy)
            network = (
                f", network {profile_.network}" if isinstance(profile_, ManagedProfile) else ""
            )
            return f"{sandbox_mode(policy)}{network}"


def _files(profile: ManagedProfile) -> Iterator[str]:
    if profile.entries is None:
        yield "write everywhere"
    for access in _ORDER:
        named = [_word(entry.place) for entry in profile.entries or () if entry.access == access]
        if named:
            yield f"{access} {', '.join(named)}"


def _word(place: Place) -> str:
    match place:
        case PathPlace(path):
            return path
        case GlobPlace(pattern):
            return pattern
        case ProjectPlace(subpath):
            return ":workspace_roots" + (f"/{subpath}" if subpath else "")
        case UnknownPlace(path=path):
            return f"{path} (unknown)"
        case _:
            return _SPECIAL[type(place)]
