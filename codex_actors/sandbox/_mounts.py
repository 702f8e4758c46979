"""What to put where, so that a command sees the disk as far as it reaches.

Both sandboxes that are made of mounts follow the same plan: the whole disk read-only, then path
by path what is different, outer paths first.

A folder that lies between a writable root and a path with a rule of its own is mounted upon
itself. Nobody can then rename it and put another in its place, which would carry the rule away.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, final

import attrs

from ..core import Reach, ReachRule, is_below

# Sandboxes that are made of mounts make these anew. The machine's own would show the processes
# outside, and through them the whole disk.
_MADE: Final = ("/dev", "/proc")

Kind: TypeAlias = Literal["write", "read", "hide"]
_KINDS: Final[dict[str, Kind]] = {"write": "write", "read": "read", "deny": "hide"}


@final
@attrs.frozen
class Mount:
    """What a command sees at a path."""

    path: str
    kind: Kind
    is_folder: bool = True
    is_link: bool = False


@final
@attrs.frozen(kw_only=True)
class Plan:
    """The mounts of a command."""

    mounts: tuple[Mount, ...]
    """Outer paths first."""
    stand_ins: tuple[str, ...]
    """Those of them where nothing is yet: something must be there to be mounted upon."""


def plan_mounts(reach: Reach) -> Plan:
    """Return what to mount on a disk that is otherwise read-only, or hidden. Blocks."""
    mounts: dict[str, Mount] = {}
    stand_ins: list[str] = []
    for rule in reach.rules:
        if rule.path == "/" or _is_made(rule):
            continue
        for path in _between(reach, rule.path):
            mounts.setdefault(path, Mount(path, "write"))
        mount = _mount(rule)
        if mount is not None:
            mounts[rule.path] = mount
        elif rule.access != "write" and reach.may_write(os.path.dirname(rule.path)):
            missing = _first_missing(rule.path)
            mounts.setdefault(missing, Mount(missing, _KINDS[rule.access]))
            stand_ins.append(missing)
    return Plan(
        mounts=tuple(sorted(mounts.values(), key=lambda mount: mount.path.split("/"))),
        stand_ins=tuple(dict.fromkeys(stand_ins)),
    )


def _is_made(rule: ReachRule) -> bool:
    in_proc = is_below(rule.path, "/proc") and rule.access != "deny"
    return rule.path in _MADE or in_proc


def top_links() -> tuple[tuple[str, str], ...]:
    """Return links by which programs and libraries are found, such as /lib to usr/lib. Blocks."""
    paths = (f"/{name}" for name in sorted(os.listdir("/")))
    return tuple((path, os.readlink(path)) for path in paths if os.path.islink(path))


def _mount(rule: ReachRule) -> Mount | None:
    try:
        mode = os.lstat(rule.path).st_mode
    except OSError:
        return None
    return Mount(rule.path, _KINDS[rule.access], stat.S_ISDIR(mode), stat.S_ISLNK(mode))


def _between(reach: Reach, path: str) -> Iterator[str]:
    """The existing folders between the nearest rule above, if it lets write, and the path."""
    above = [rule for rule in reach.rules if rule.path != path and is_below(path, rule.path)]
    if not above or above[-1].access != "write":
        return
    folder = above[-1].path.rstrip("/")
    for name in path.removeprefix(folder).strip("/").split("/")[:-1]:
        folder = f"{folder}/{name}"
        if os.path.isdir(folder):
            yield folder


def _first_missing(path: str) -> str:
    while not os.path.lexists(parent := os.path.dirname(path)):
        path = parent
    return path
