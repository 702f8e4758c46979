"""``[shell_environment_policy]``: which variables the commands of an agent see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from ..core import CommandEnvironment, EnvironmentPolicy, make_environment
from ..core._environment import Inherit
from ..protocol import Provider
from ._providers import read_providers
from ._sources import Sources, read_sources
from ._table import Table

_INHERIT: tuple[Inherit, ...] = get_args(Inherit)


def load_environment(sources: Sources, environ: Mapping[str, str]) -> CommandEnvironment:
    """Read what commands see, and nothing else; blocks.

    Raises:
        SettingsError: as `load_settings` raises it, but for other keys.
    """
    return read_environment(read_sources(sources, environ), environ)


def read_environment(root: Table, environ: Mapping[str, str]) -> CommandEnvironment:
    """What the settings make of ``environ``, their providers looked up.

    Raises:
        SettingsError: A key has a value that it cannot have.
    """
    return build_environment(root, environ, read_providers(root, environ).values())


def build_environment(
    root: Table, environ: Mapping[str, str], providers: Iterable[Provider]
) -> CommandEnvironment:
    """What the settings make of ``environ``; variables that hold keys of providers are secrets.

    Raises:
        SettingsError: A key has a value that it cannot have.
    """
    secrets = frozenset(name for provider in providers for name in _key_variables(provider))
    return make_environment(read_environment_policy(root), environ, secrets)


def read_environment_policy(root: Table) -> EnvironmentPolicy:
    """``[shell_environment_policy]``.

    Raises:
        SettingsError: A key has a value that it cannot have.
    """
    table = root.table("shell_environment_policy")
    table.boolean("experimental_use_profile")  # does nothing; in the reference neither
    return EnvironmentPolicy(
        inherit=table.choice("inherit", _INHERIT) or "all",
        ignore_default_excludes=table.boolean("ignore_default_excludes") or False,
        keep=table.strings("keep") or (),
        exclude=table.strings("exclude") or (),
        variables=_read_variables(table),
        include_only=table.strings("include_only") or (),
    )


def _read_variables(table: Table) -> dict[str, str]:
    variables = table.string_map("set") or {}
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name + value:
            problem = (
                "no variable can be that: a name is not empty and has no '='; neither has a NUL"
            )
            raise table.table("set").refuse(name, problem)
    return variables


def _key_variables(provider: Provider) -> Iterator[str]:
    if provider.env_key:
        yield provider.env_key
    if provider.id != "openai":  # its own are the names of an organization and a project
        yield from provider.env_http_headers.values()
