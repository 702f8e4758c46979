"""Looking at the disk for what a policy reaches.

Policies name places; links, missing folders and the pointer files of git worktrees decide what
those are. They are looked at when a process is about to start, because all of them may change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final, assert_never

import attrs

from ..core import (
    UNCONFINED,
    Confinement,
    PathPattern,
    Reach,
    ReachRule,
    is_below,
    place_at,
    profile_of,
)
from ..protocol import (
    Bound,
    DisabledProfile,
    ExternalProfile,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    PermissionProfile,
    Place,
    ProjectPlace,
    RootPlace,
    SandboxPolicy,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)
from ._errors import PatternAllows
from ._links import Way, walk

PROTECTED: Final = (".git", ".agents", ".codex")
"""Below each writable root these stay as they are: whoever writes them controls later runs."""
# What a dynamically linked program needs; from the Filesystem Hierarchy Standard.
_MINIMAL: Final = ("/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", "/dev", "/proc")


def resolve_reach(
    policy: SandboxPolicy | PermissionProfile,
    cwd: str,
    env: Mapping[str, str],
    *,
    writable: Sequence[str] = (),
) -> Reach:
    """Return what a process may touch under a policy. Blocks: call it in a thread.

    Nothing is looked for that patterns match: see `find_denied`.

    Args:
        policy: What it is allowed.
        cwd: The root of its workspace.
        env: Where ``TMPDIR`` is looked up.
        writable: What it may write besides, without links.

    Raises:
        PatternAllows: if a profile allows what a pattern matches: patterns can only deny.
    """
    profile = policy if isinstance(policy, PermissionProfile) else profile_of(policy)
    match profile:
        case DisabledProfile() | ExternalProfile():
            return UNCONFINED
        case ManagedProfile():
            return _managed(profile, cwd, env, (*writable, *_written(profile, cwd, env)))
        case _:
            assert_never(profile)


def _managed(
    profile: ManagedProfile, cwd: str, env: Mapping[str, str], written: Sequence[str]
) -> Reach:
    rules = (rule for entry in profile.entries or () for rule in _rules(entry, cwd, env, written))
    return Reach(
        rules=UNCONFINED.rules if profile.entries is None else rules,
        network=profile.network == "enabled",
        patterns=tuple(_patterns(profile, cwd)),
    )


def _written(profile: ManagedProfile, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """All that may be written, as it is spelled."""
    entries = (entry for entry in profile.entries or () if entry.access == "write")
    return tuple(path for entry in entries for path in _absolute_paths(entry.place, cwd, env))


def bounded_reach(bounds: Sequence[Bound], env: Mapping[str, str]) -> Reach:
    """Return what a process may touch under several policies at once, one at least. Blocks.

    Raises:
        PatternAllows: as `resolve_reach`.
    """
    reaches = (resolve_reach(bound.policy, bound.cwd, env) for bound in bounds)
    return reduce(Reach.narrowed_by, reaches)


def keep_home(reach: Reach, home: str) -> Reach:
    """Return the reach where a home directory stays as it is, unless a rule names it. Blocks.

    Whoever writes rules and settings there decides what later runs may do.
    """
    return reach.keeping(os.path.realpath(home)) if home else reach


def resolve_confinement(policy: SandboxPolicy, cwd: str, env: Mapping[str, str]) -> Confinement:
    """Return what a process may touch under a policy, and who sees to it. Blocks.

    This is for comparing: wherever links lead counts, also where they would not be followed.

    Raises:
        PatternAllows: as `resolve_reach`.
    """
    match profile_of(policy):
        case DisabledProfile():
            return Confinement(by="nobody", reach=UNCONFINED)
        case ExternalProfile(network=network):
            open_ = attrs.evolve(UNCONFINED, network=network == "enabled")
            return Confinement(by="somebody else", reach=open_)
        case ManagedProfile() as profile:
            return Confinement(by="us", reach=_managed(profile, cwd, env, ()))


def _patterns(profile: ManagedProfile, cwd: str) -> Iterator[PathPattern]:
    root = os.path.realpath(cwd)
    for entry in profile.entries or ():
        place = place_at(entry.place, root)
        if not isinstance(place, GlobPlace):
            continue
        if entry.access != "deny":
            raise PatternAllows(place.pattern, entry.access)
        yield _pattern(os.path.normpath(place.pattern), profile.glob_scan_max_depth)


def _pattern(text: str, max_depth: int | None) -> PathPattern:
    """The pattern, as it is for paths without links."""
    base = PathPattern(text).base
    rest = text.removeprefix(base).lstrip("/")
    return PathPattern(os.path.join(os.path.realpath(base), rest), max_depth)


def _absolute_paths(place: Place, cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    root = os.path.realpath(cwd)
    for spelled in _paths(place, cwd, env):
        yield os.path.normpath(os.path.join(root, spelled))


def _is_led_away(way: Way, written: Sequence[str]) -> bool:
    """Whether a link leads out of a writable folder: a command may have put it there."""
    return any(
        is_below(link, top) and not is_below(way.end, top)
        for top in map(os.path.realpath, written)
        for link in way.links
    )


def _rules(
    entry: PermissionEntry, cwd: str, env: Mapping[str, str], written: Sequence[str]
) -> Iterator[ReachRule]:
    root = os.path.realpath(cwd)
    for spelled in _absolute_paths(entry.place, cwd, env):
        way = walk(spelled)
        path = way.end
        if entry.access == "write" and _is_led_away(way, written):
            continue
        if entry.missing_path_behavior == "skip" and not os.path.lexists(path):
            continue
        if entry.access == "write" and not _is_named(entry.place) and _is_inside_repository(path):
            yield ReachRule(path, "read")
            continue
        yield ReachRule(path, entry.access)
        if entry.access == "write":
            for kept in _protected(path, is_workspace=path == root):
                yield ReachRule(kept, "read")


def _is_named(place: Place) -> bool:
    """Whether somebody has said which place it is, and not only where things happen to be."""
    return not isinstance(place, TmpdirPlace | ProjectPlace) or bool(
        isinstance(place, ProjectPlace) and place.subpath
    )


def _is_inside_repository(path: str) -> bool:
    """Whether it is part of what git keeps, and not of a checkout that lies there."""
    while not os.path.lexists(os.path.join(path, ".git")):
        if os.path.basename(path) == ".git":
            return True
        if path == "/":
            return False
        path = os.path.dirname(path)
    return False


def _paths(place: Place, cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    match place:
        case PathPlace(path):
            return (path,)
        case RootPlace():
            return ("/",)
        case MinimalPlace():
            return tuple(path for path in _MINIMAL if os.path.exists(path))
        case ProjectPlace(subpath):
            return (os.path.join(cwd, subpath or ""),)
        case TmpdirPlace():
            tmpdir = env.get("TMPDIR", "")
            return (tmpdir,) if os.path.isabs(tmpdir) else ()
        case SlashTmpPlace():
            return ("/tmp",) if os.path.isdir("/tmp") else ()  # noqa: S108 - it means /tmp
        case GlobPlace() | UnknownPlace():
            return ()
        case _:
            assert_never(place)


def _protected(root: str, *, is_workspace: bool) -> Iterator[str]:
    for name in PROTECTED:
        path = os.path.join(root, name)
        if os.path.lexists(path):
            yield path
            yield os.path.realpath(path)
            if name == ".git" and os.path.isfile(path):
                yield from _git_directories(path)
        elif is_workspace:
            # Or else a process could make one, and configure whoever works here next.
            yield path


def _git_directories(pointer: str) -> Iterator[str]:
    """Where a worktree's ``.git`` file points to, and the folder that it shares with others."""
    directory = _pointed_at(pointer, prefix="gitdir:")
    if directory is not None:
        yield directory
        common = _pointed_at(os.path.join(directory, "commondir"))
        if common is not None:
            yield common


def _pointed_at(file: str, *, prefix: str = "") -> str | None:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            line = lines.read(4096).strip()
    except OSError:
        return None
    target = line.removeprefix(prefix).strip()
    if not line.startswith(prefix) or not target or "\0" in target:
        return None
    return os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(file)), target))
