"""The places that lines of a permission profile are about."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Final, final

import attrs

from ..protocol import (
    Access,
    GlobPlace,
    MinimalPlace,
    PathPlace,
    Place,
    ProjectPlace,
    RootPlace,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)
from ._errors import SettingsError
from ._table import Table

_SPECIAL: Final[Mapping[str, Callable[[], Place]]] = {
    ":root": RootPlace,
    ":minimal": MinimalPlace,
    ":workspace_roots": ProjectPlace,
    ":tmpdir": TmpdirPlace,
    ":slash_tmp": SlashTmpPlace,
}
_MAGIC: Final = frozenset("*?[]")
_ALL_BELOW: Final = "/**"


@final
@attrs.frozen
class Said:
    """One line about files: what may be done with a place, or with something below it."""

    table: Table
    """Where it stands."""
    outer: str
    inner: str | None
    """None: it is about the whole place."""
    access: Access

    def refuse(self, problem: str) -> SettingsError:
        """The error that says why the line cannot be used."""
        return self.table.refuse(self.outer if self.inner is None else self.inner, problem)


def place_of(line: Said) -> Place:
    """Return the place that a line is about.

    Raises:
        SettingsError: It is none, or cannot be given this access.
    """
    if line.inner in (None, "."):
        plain = _plain(line, line.outer)
        return _special(plain) or _absolute(line, plain)
    assert line.inner is not None
    inner = _plain(line, _below(line))
    special = _special(line.outer)
    match special:
        case None:
            return _absolute(line, os.path.join(line.outer, inner))
        case ProjectPlace():
            return GlobPlace(inner) if _is_magic(inner) else ProjectPlace(inner)
        case UnknownPlace(path=path):
            return UnknownPlace(path=path, subpath=inner)
        case _:
            raise line.refuse(f"nothing below {line.outer!r} can be named; name the path itself")


def _special(name: str) -> Place | None:
    if name in _SPECIAL:
        return _SPECIAL[name]()
    return UnknownPlace(path=name) if name.startswith(":") else None


def _absolute(line: Said, path: str) -> Place:
    home = line.table.merged.user_home
    if home is not None and (path == "~" or path.startswith("~/")):
        path = os.path.join(home, path[2:])
    if not os.path.isabs(path):
        raise line.refuse(f"the path {path!r} must be absolute, or begin with '~/' or ':'")
    path = os.path.normpath(path)
    return GlobPlace(path) if _is_magic(path) else PathPlace(path)


def _below(line: Said) -> str:
    parts = str(line.inner).split("/")
    if ".." in parts or not parts[0]:
        raise line.refuse("must be below the place: a relative path without '..'")
    return "/".join(part for part in parts if part not in ("", "."))


def _plain(line: Said, path: str) -> str:
    """The path; without what says that all below it is meant, where that goes without saying."""
    if line.access == "deny" or not _is_magic(path):
        return path
    plain = path.removesuffix(_ALL_BELOW)
    if _is_magic(plain):
        raise line.refuse(
            f"a pattern can only deny; name the path, or end it with {_ALL_BELOW!r}"
            f" to give {line.access} access to all below it"
        )
    return plain


def _is_magic(path: str) -> bool:
    return not _MAGIC.isdisjoint(path)
