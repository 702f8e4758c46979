"""Roles that are files of their own, in the home directory and in the project.

Where they are looked for, what they must have, and which of two with one name counts, is the
reference's, release 0.163. Whatever is wrong with one is a warning, and the others count.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import final

import attrs

from ..core import lets_write
from ..protocol import Role, Settings
from ._collaboration import file_table, read_role, role_files
from ._errors import SettingsError
from ._files import is_file, list_files
from ._guides import find_project, is_trusted, list_directories
from ._known import find_unknown_in_role_file
from ._table import Table

_NEEDED = ("name", "description", "developer_instructions")


@final
@attrs.frozen
class FoundRoles:
    """The roles that there are, those of tables included, and what their authors should hear."""

    roles: Mapping[str, Role]
    warnings: tuple[str, ...] = ()


def find_roles(root: Table, settings: Settings) -> FoundRoles:
    """Lay roles in files over and under those of ``[agents.NAME]``. Blocks.

    In the home directory a table comes before a file. Below that of the project comes before
    either, the innermost directory first; what the command line says, before all.

    Args:
        root: The merged settings.
        settings: What they say; their roles are those of tables.
    """
    tables = settings.collaboration.roles
    declared = role_files(root)
    said = {name: role for name, role in tables.items() if _is_said(root, name)}
    warnings: list[str] = []
    of_home = dict(_read_all(os.path.join(settings.home, "agents"), declared, warnings))
    warnings += [
        f"{of_home[name][0]}: the role {name!r} is in [agents.{name}] already"
        for name in sorted(of_home.keys() & tables.keys())
    ]
    roles = {**{name: role for name, (_, role) in of_home.items()}, **tables}
    for directory in _project_directories(settings):
        found = _read_all(os.path.join(directory, ".codex", "agents"), declared, warnings)
        roles |= {name: role for name, (_, role) in found}
    return FoundRoles(roles | said, tuple(warnings))


def _is_said(root: Table, name: str) -> bool:
    """Whether the role's table is of the command line."""
    layer = root.merged.origin(("agents", name))
    return layer is not None and layer.name in ("-c", "command line")


def _project_directories(settings: Settings) -> tuple[str, ...]:
    """The directories of the project, outermost first; none of one that nobody trusts.

    Who may write here anyway need not be told by the project's files that they are trusted.
    """
    rules = settings.guides
    if rules is None:
        return ()
    top = find_project(rules, settings.cwd)
    explicit = rules.trust.get(settings.cwd, rules.trust.get(top))
    policy = settings.sandbox_policy
    writes = policy is not None and lets_write(policy)
    heeded = is_trusted(rules, top, settings.cwd) and (explicit is not None or writes)
    return list_directories(top, settings.cwd) if heeded else ()


def _read_all(
    directory: str, declared: Collection[str], warnings: list[str]
) -> Iterator[tuple[str, tuple[str, Role]]]:
    """Yield each role below a directory: its name, the file, and itself."""
    seen: dict[str, str] = {}
    for path in list_files(directory, ".toml"):
        if path in declared or not is_file(path):
            continue
        try:
            role = _read(path)
        except SettingsError as error:
            warnings.append(f"{error}; the role is left out")
            continue
        if role.name in seen:
            warnings.append(f"{path}: the role {role.name!r} is in {seen[role.name]} already")
            continue
        seen[role.name] = path
        yield role.name, (path, role)


def _read(path: str) -> Role:
    """Read one role.

    Raises:
        SettingsError: if the file is none.
    """
    file = file_table(path)
    for key in _NEEDED:
        if file.string(key) is None:
            raise SettingsError(
                "is missing; a role in a file of its own needs it", source=path, key=key
            )
    for unknown in find_unknown_in_role_file(file):
        raise unknown
    return read_role(path, Table({}, file.merged), file)
