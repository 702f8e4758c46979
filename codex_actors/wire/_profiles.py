"""How permission profiles are spelled, entry by entry.

Where a working directory is known, the reference writes paths instead of places of the project.
Both are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import cattrs

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
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)
from ._shapes import rename, reshape, table, without
from ._unions import TaggedUnion

_PROFILES: Final = TaggedUnion(
    tags={"managed": ManagedProfile, "disabled": DisabledProfile, "external": ExternalProfile}
)
_KINDS: Final[Mapping[str, type[RootPlace | MinimalPlace | TmpdirPlace | SlashTmpPlace]]] = {
    "root": RootPlace,
    "minimal": MinimalPlace,
    "tmpdir": TmpdirPlace,
    "slash_tmp": SlashTmpPlace,
}
_KIND_OF: Final[Mapping[type[Any], str]] = {cls: kind for kind, cls in _KINDS.items()}
_IN_PROJECT: Final = "codex-project-roots://"


def register_profiles(converter: cattrs.Converter) -> None:
    """Teach the converter permission profiles."""
    converter.register_structure_hook(Place, _read_place)
    converter.register_unstructure_hook(Place, _write_place)
    rename(converter, PermissionEntry, place="path")
    reshape(converter, PermissionEntry, read=_read_entry)
    reshape(converter, ManagedProfile, read=_read_managed, write=_write_managed)
    _PROFILES.register(converter, PermissionProfile)


def at_directory(profile: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The spelled profile with paths in the place of what is said of the project."""
    below = cwd.rstrip("/")
    return _with_paths(profile, partial(_absolute, cwd=below)) if below else dict(profile)


def from_directory(profile: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The spelled profile with places of the project instead of paths below the directory.

    Below the whole disk is everything, so nothing is said of that one.
    """
    below = cwd.rstrip("/")
    return _with_paths(profile, partial(_relative, cwd=below)) if below else dict(profile)


def _with_paths(profile: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    match profile:
        case {"file_system": {"entries": list(entries)} as files}:
            changed = [_moved(entry, change) for entry in entries]
            return {**profile, "file_system": {**files, "entries": changed}}
        case _:
            return dict(profile)


def _moved(entry: Any, change: Callable[[Any], Any]) -> Any:
    return {**entry, "path": change(entry.get("path"))} if isinstance(entry, dict) else entry


def _absolute(path: Any, cwd: str) -> Any:
    match path:
        case {"type": "special", "value": {"kind": "project_roots", **more}}:
            subpath = more.get("subpath")
            return _path(f"{cwd}/{subpath}" if subpath else cwd)
        case {"type": "glob_pattern", "pattern": str(pattern)}:
            inner = pattern.removeprefix(_IN_PROJECT)
            absolute = inner if inner.startswith("/") else f"{cwd}/{inner}"
            return {"type": "glob_pattern", "pattern": absolute}
        case _:
            return path


def _relative(path: Any, cwd: str) -> Any:
    match path:
        case {"type": "path", "path": str(name)} if name == cwd:
            return _special("project_roots")
        case {"type": "path", "path": str(name)} if name.startswith(f"{cwd}/"):
            return _special("project_roots", subpath=name.removeprefix(f"{cwd}/"))
        case {"type": "glob_pattern", "pattern": str(name)} if name.startswith(f"{cwd}/"):
            pattern = name.removeprefix(f"{cwd}/")
            return {"type": "glob_pattern", "pattern": f"{_IN_PROJECT}{pattern}"}
        case _:
            return path


def _read_place(value: Any, _: Any) -> Place:
    match value:
        case {"type": "path", "path": str(path)}:
            return PathPlace(path)
        case {"type": "glob_pattern", "pattern": str(pattern)}:
            return GlobPlace(pattern.removeprefix(_IN_PROJECT))
        case {"type": "special", "value": {"kind": str(kind), **more}}:
            return _read_special(kind, more)
        case _:
            raise ValueError(f"{value!r} is no place")


def _read_special(kind: str, more: Mapping[Any, Any]) -> Place:
    subpath, path = more.get("subpath"), more.get("path")
    if not isinstance(subpath, str | None) or not isinstance(path, str | None):
        raise TypeError(f"{more!r} is not of a place")
    if kind == "project_roots":
        return ProjectPlace(subpath)
    known = _KINDS.get(kind)
    return UnknownPlace(path=path or f":{kind}", subpath=subpath) if known is None else known()


def _write_place(place: Place) -> dict[str, Any]:
    match place:
        case PathPlace(path):
            return _path(path)
        case GlobPlace(pattern):
            inside = "" if pattern.startswith("/") else _IN_PROJECT
            return {"type": "glob_pattern", "pattern": f"{inside}{pattern}"}
        case ProjectPlace(subpath):
            return _special("project_roots", subpath=subpath)
        case UnknownPlace(path=path, subpath=subpath):
            return _special("unknown", path=path, subpath=subpath)
        case _:
            return _special(_KIND_OF[type(place)])


def _path(path: str) -> dict[str, Any]:
    return {"type": "path", "path": path}


def _special(kind: str, **more: str | None) -> dict[str, Any]:
    said = {key: value for key, value in more.items() if value is not None}
    return {"type": "special", "value": {"kind": kind, **said}}


def _read_entry(fields: dict[str, Any]) -> dict[str, Any]:
    # The older word for it.
    return {**fields, "access": "deny"} if fields.get("access") == "none" else fields


def _read_managed(fields: dict[str, Any]) -> dict[str, Any]:
    files = table(fields["file_system"])
    if files["type"] == "unrestricted":
        return {**without(fields, "file_system"), "entries": None}
    if files["type"] != "restricted":
        raise ValueError(f"{files['type']!r} is no kind of files")
    depth = files.get("glob_scan_max_depth")
    return {
        **without(fields, "file_system"),
        "entries": files["entries"],
        "glob_scan_max_depth": depth,
    }


def _write_managed(fields: dict[str, Any]) -> dict[str, Any]:
    files: dict[str, Any] = {"type": "unrestricted"}
    if fields["entries"] is not None:
        files = {"type": "restricted", "entries": fields["entries"]}
        if "glob_scan_max_depth" in fields:
            files["glob_scan_max_depth"] = fields["glob_scan_max_depth"]
    return {"file_system": files, "network": fields["network"]}
