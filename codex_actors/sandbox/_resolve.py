"""Looking at the disk for what a policy reaches.

Policies name places; links, missing folders and the pointer files of git worktrees decide what
those are. They are looked at when a process is about to start, because all of them may change.
What commands may change themselves decides nothing: a place that is reached through a link which
lies where they may write cannot be written by that.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Final, assert_never

from ..core import UNCONFINED, Reach, ReachRule, is_below, profile_of
from ..protocol import (
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
from ._errors import PatternsUnsupported
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
    writable: Collection[str] = (),
) -> Reach:
    """Return what a process may touch under a policy. Blocks: call it in a thread.

    Args:
        policy: What it is allowed.
        cwd: The root of its workspace.
        env: Where ``TMPDIR`` is looked up.
        writable: What it may write besides: absolute, normalised, and without links.

    Raises:
        PatternsUnsupported: if a profile names places by a pattern.
    """
    profile = policy if isinstance(policy, PermissionProfile) else profile_of(policy)
    match profile:
        case DisabledProfile() | ExternalProfile():
            return UNCONFINED
        case ManagedProfile(entries=entries, network=network):
            rules = _all_rules(entries, cwd, env, writable)
            return Reach(rules=rules, network=network == "enabled")
        case _:
            assert_never(profile)


def _all_rules(
    entries: tuple[PermissionEntry, ...] | None,
    cwd: str,
    env: Mapping[str, str],
    writable: Collection[str],
) -> tuple[ReachRule, ...]:
    if entries is None:
        return UNCONFINED.rules
    root = os.path.realpath(cwd)
    ways = [
        (entry, walk(os.path.join(cwd, spelled)))
        for entry in entries
        for spelled in _paths(entry.place, cwd, env)
    ]
    written = [*writable, *(way.end for entry, way in ways if entry.access == "write")]
    return tuple(
        rule
        for entry, way in ways
        if entry.access != "write" or _is_steady(way, written)
        for rule in _rules(entry, way.end, root)
    )


def _is_steady(way: Way, written: Collection[str]) -> bool:
    """Whether no command can make the way lead elsewhere, by a link where it may write."""
    return not any(is_below(link, top) for link in way.links for top in written)


def _rules(entry: PermissionEntry, path: str, root: str) -> Iterator[ReachRule]:
    if entry.missing_path_behavior == "skip" and not os.path.lexists(path):
        return
    if entry.access == "write" and not _is_named(entry.place) and _is_inside_repository(path):
        yield ReachRule(path, "read")
        return
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
        case GlobPlace(pattern):
            raise PatternsUnsupported(pattern)
        case UnknownPlace():
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
