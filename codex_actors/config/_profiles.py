"""Permission profiles, from ``default_permissions`` and the tables in ``[permissions]``."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import Final, Literal, get_args

from ..core import add_roots
from ..protocol import (
    Access,
    ActiveProfile,
    DisabledProfile,
    ManagedProfile,
    PermissionEntry,
    PermissionProfile,
    Profiled,
    ProjectPlace,
    RootPlace,
    SlashTmpPlace,
    TmpdirPlace,
    UnknownPlace,
)
from ._errors import SettingsError, find_nearest, list_choices
from ._places import Said, place_of
from ._table import Table

PROFILE: Final = ("description", "extends", "workspace_roots", "filesystem", "network")
"""Keys of a profile."""
_RESTRICTING: Final = ("domains", "unix_sockets", "mode", "mitm")
NETWORK: Final = (
    *("enabled", "proxy_url", "enable_socks5", "socks_url", "enable_socks5_udp"),
    *("allow_upstream_proxy", "allow_local_binding", "dangerously_allow_non_loopback_proxy"),
    *("dangerously_allow_all_unix_sockets", *_RESTRICTING),
)
"""Keys of its network."""

_Word = Literal["read", "write", "deny", "none"]
_WORDS: Final[tuple[_Word, ...]] = get_args(_Word)
_DEPTH: Final = "glob_scan_max_depth"
_PROTECTED: Final = (".git", ".agents", ".codex", ".aws")

_READ: Final = PermissionEntry(place=RootPlace(), access="read")
# As the reference has them; what is protected without a word is said for other readers.
BUILT_IN: Final[dict[str, PermissionProfile]] = {
    ":read-only": ManagedProfile(entries=(_READ,)),
    ":workspace": ManagedProfile(
        entries=(
            _READ,
            *(
                PermissionEntry(place=place, access="write")
                for place in (ProjectPlace(), SlashTmpPlace(), TmpdirPlace())
            ),
            *(
                PermissionEntry(
                    place=ProjectPlace(name), access="read", missing_path_behavior="skip"
                )
                for name in _PROTECTED
            ),
        )
    ),
    ":danger-full-access": DisabledProfile(),
}
# What a profile begins with that extends one of them.
_EXTENSIBLE: Final[dict[str, dict[tuple[str, str | None], Access]]] = {
    ":read-only": {(":root", None): "read"},
    ":workspace": {
        (":root", None): "read",
        (":workspace_roots", "."): "write",
        (":slash_tmp", None): "write",
        (":tmpdir", None): "write",
    },
}


def read_profile(root: Table, cwd: str) -> Profiled | None:
    """Return the profile that ``default_permissions`` names; None: nothing does, or ``sandbox_mode`` counts.

    Raises:
        SettingsError: It does not exist, or cannot be what it says.
    """
    permissions = root.table("permissions")
    for name in permissions.values:
        if name.startswith(":"):
            problem = "names that begin with a colon are those of built-in profiles"
            raise permissions.refuse(name, problem, name.lstrip(":"))
    chosen = root.string("default_permissions")
    if chosen is None:
        _refuse_unchosen(root, permissions)
        return None
    if "sandbox_mode" in root.values and root.merged.is_above(
        "sandbox_mode", "default_permissions"
    ):
        return None
    if chosen in BUILT_IN:
        return Profiled(profile=BUILT_IN[chosen], active=ActiveProfile(id=chosen))
    chain = _chain(root, permissions, chosen)
    return Profiled(
        profile=add_roots(_compiled(chain), _roots(chain, cwd)),
        active=ActiveProfile(id=chosen, extends=chain[0].string("extends")),
    )


def find_ignored(root: Table) -> Iterator[SettingsError]:
    """A complaint about everything in the chosen profile that says nothing to this version."""
    name = root.values.get("default_permissions")
    permissions = root.table("permissions")
    if name in BUILT_IN or name not in permissions.values or read_profile(root, "/") is None:
        return
    said = _merged(_chain(root, permissions, str(name)))
    if not said:
        yield permissions.refuse(str(name), "says nothing of files, so that none can be read")
    for line in said:
        if isinstance(place_of(line), UnknownPlace):
            yield line.refuse("is no place that is known here; the line is ignored")


def _refuse_unchosen(root: Table, permissions: Table) -> None:
    if permissions.values and "sandbox_mode" not in root.values:
        first = next(iter(permissions.values))
        problem = f"no profile is chosen; write default_permissions = {first!r}, or sandbox_mode"
        raise root.refuse("permissions", problem)


def _chain(root: Table, permissions: Table, name: str) -> list[Table]:
    """The profile and those that it extends; the built-in one at the end is left out."""
    chain: list[Table] = []
    wanted: str | None = name
    asking, key = root, "default_permissions"
    while wanted is not None and (wanted not in _EXTENSIBLE or not chain):
        if wanted not in permissions.values:
            raise _unknown(asking, key, wanted, permissions, built_in=_offered(chain))
        table = permissions.table(wanted)
        if table.path in [each.path for each in chain]:
            names = " -> ".join(each.path[-1] for each in (*chain, table))
            raise asking.refuse(key, f"profiles extend each other in a circle: {names}")
        chain.append(table)
        asking, key = table, "extends"
        wanted = table.string("extends")
    return chain


def _offered(chain: list[Table]) -> tuple[str, ...]:
    return tuple(_EXTENSIBLE) if chain else tuple(BUILT_IN)


def _unknown(
    asking: Table, key: str, wanted: str, permissions: Table, *, built_in: tuple[str, ...]
) -> SettingsError:
    names = (*permissions.values, *built_in)
    problem = f"there is no profile {wanted!r} here; the names are {list_choices(names)[7:]}"
    return asking.refuse(key, problem, find_nearest(wanted, names))


def _compiled(chain: list[Table]) -> ManagedProfile:
    depth = next((d for t in chain if (d := _depth(t.table("filesystem"))) is not None), None)
    networked = (_network(table.table("network")) for table in chain)
    enabled = next((said for said in networked if said is not None), False)
    return ManagedProfile(
        entries=tuple(
            PermissionEntry(place=place_of(line), access=line.access) for line in _merged(chain)
        ),
        network="enabled" if enabled else "restricted",
        glob_scan_max_depth=depth,
    )


def _depth(files: Table) -> int | None:
    return files.integer(_DEPTH, at_least=1)


def _network(network: Table) -> bool | None:
    enabled = network.boolean("enabled")
    for key in _RESTRICTING:
        if enabled and network.values.get(key):
            problem = (
                "is not supported: the network is either on, for everything, or off;"
                " leave it out, or write enabled = false"
            )
            raise network.refuse(key, problem)
    return enabled


def _roots(chain: list[Table], cwd: str) -> Iterator[str]:
    said: dict[str, bool] = {}
    for profile in reversed(chain):
        table = profile.table("workspace_roots")
        for path in table.values:
            home = table.merged.user_home
            plain = os.path.join(home, path[2:]) if home and path.startswith("~/") else path
            said[os.path.normpath(os.path.join(cwd, plain))] = bool(table.boolean(path))
    return (path for path, wanted in said.items() if wanted)


def _merged(chain: list[Table]) -> list[Said]:
    """All lines about files, those of a profile over those that it extends; in the order of keys."""
    last = chain[-1]
    base = _EXTENSIBLE.get(last.string("extends") or "", {})
    lines = {key: Said(last, *key, access) for key, access in base.items()}
    for profile in reversed(chain):
        for key, below in _said(profile.table("filesystem")).items():
            whole = {place: said for place, said in lines.items() if place[0] == key}
            replaced = None in below or (key, None) in whole
            for place in whole if replaced else ():
                del lines[place]
            lines |= {(key, inner): said for inner, said in below.items()}
    return [lines[place] for place in sorted(lines, key=lambda place: (place[0], place[1] or ""))]


def _said(files: Table) -> dict[str, dict[str | None, Said]]:
    """What a table says of each place, or of what is below it."""
    said: dict[str, dict[str | None, Said]] = {}
    for key, value in files.values.items():
        if key == _DEPTH:
            continue
        if isinstance(value, dict):
            inner = files.table(key)
            said[key] = {name: Said(inner, key, name, _access(inner, name)) for name in value}
        else:
            said[key] = {None: Said(files, key, None, _access(files, key))}
    return said


def _access(table: Table, key: str) -> Access:
    word = table.choice(key, _WORDS)
    assert word is not None
    return "deny" if word == "none" else word
