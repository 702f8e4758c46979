"""Files, variables and flags -> `Settings`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, final

import attrs

from ..core import add_roots
from ..protocol import Profiled, Provider, ReadOnly, SandboxPolicy, Settings, WorkspaceWrite
from ._auth import Key, find_key
from ._build import build_settings
from ._environment import read_environment
from ._errors import SettingsError
from ._files import read_text
from ._guides import was_trusted
from ._host import find_shell, find_timezone
from ._known import find_inert, find_unknown
from ._permissions import read_workspace_write
from ._profiles import find_ignored, read_profile
from ._role_files import find_roles
from ._sources import Sources, read_sources
from ._table import Table


@final
@attrs.frozen
class Loaded:
    """Settings, and what their author should hear about them."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    """One line each: unknown keys, a key file that others can read."""
    withheld: tuple[str, ...] = ()
    """Names of variables that commands do not see because they look like secrets."""


def load_settings(
    *,
    home: str,
    environ: Mapping[str, str],
    cwd: str,
    overrides: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
    add_dirs: Sequence[str] = (),
    profile: str | None = None,
    ignore_user_config: bool = False,
    strict: bool = False,
) -> Loaded:
    """Load settings; reads small files, so call it from a thread or before Trio runs.

    From the lowest layer to the highest: the defaults, ``<home>/config.toml``,
    ``<home>/<profile>.config.toml``, ``overrides``, ``flags``.

    Args:
        home: Absolute path of the home directory, from `find_home`.
        environ: The environment; `os.environ` usually.
        cwd: Absolute working directory of the agent. Relative paths in ``overrides``,
            ``flags`` and ``add_dirs`` start there; those in a file, beside the file.
        overrides: ``key=value`` as given to ``-c``, in order.
        flags: What other options of the command line say, by key; None values are ignored.
        add_dirs: Directories that may be written besides ``cwd``.
        profile: Name of a further file in the home directory.
        ignore_user_config: Whether to do without ``config.toml``.
        strict: Whether an unknown key is an error; it is a warning otherwise.

    Returns:
        The settings. Their provider has its key as ``bearer_token`` and the headers from
        variables among ``http_headers``: nothing is looked up later.

    Raises:
        SettingsError: Something is wrong; it says where and what to write instead.
    """
    sources = Sources(
        home=home,
        cwd=cwd,
        overrides=overrides,
        flags=flags or {},
        profile=profile,
        ignore_user_config=ignore_user_config,
    )
    root = read_sources(sources, environ)
    settings = build_settings(root, home=home, cwd=cwd, environ=environ)
    found = find_roles(root, settings)
    warnings = check_keys(root, strict=strict)
    key = find_key(settings.provider, environ, home)
    settings = attrs.evolve(
        settings,
        provider=_with_key(settings.provider, key),
        base_instructions=_read_instructions(root),
        sandbox_policy=_with_directories(_policy(root, settings, cwd), cwd, add_dirs),
        collaboration=attrs.evolve(settings.collaboration, roles=found.roles),
        shell=find_shell(environ),
        timezone=find_timezone(environ),
    )
    warnings = (*warnings, *found.warnings, *_key_warnings(key))
    return Loaded(settings, warnings, withheld=read_environment(root, environ).withheld)


def load_profile(sources: Sources, environ: Mapping[str, str]) -> tuple[Profiled, tuple[str, ...]]:
    """Return the permission profile that the settings choose, and what to hear about it. Blocks.

    Raises:
        SettingsError: They choose none, or it is wrong.
    """
    root = read_sources(sources, environ)
    profile = read_profile(root, sources.cwd)
    if profile is None:
        raise SettingsError("no permission profile is chosen", key="default_permissions")
    return profile, tuple(map(str, find_ignored(root)))


def check_keys(root: Table, *, strict: bool) -> tuple[str, ...]:
    """Warnings of keys that have no effect, though their author thinks they do.

    Raises:
        SettingsError: if ``strict``, for the first key that nobody knows.
    """
    unknown = list(find_unknown(root))
    if strict and unknown:
        raise unknown[0]
    return tuple(map(str, (*unknown, *find_inert(root), *find_ignored(root))))


def _with_key(provider: Provider, key: Key | None) -> Provider:
    return attrs.evolve(provider, bearer_token=key.secret if key else None)


def _key_warnings(key: Key | None) -> tuple[str, ...]:
    return (key.warning,) if key and key.warning else ()


def _read_instructions(root: Table) -> str | None:
    path = root.file("model_instructions_file")
    if path is None:
        return None
    text = read_text(path)
    if text is None or not text.strip():
        fault = "there is no such file" if text is None else "the file is empty"
        raise root.refuse("model_instructions_file", f"{fault}: {path!r}")
    return text


def _policy(root: Table, settings: Settings, cwd: str) -> SandboxPolicy:
    """What was chosen; without: writing in a project that somebody said is trusted, else none."""
    if settings.sandbox_policy is not None:
        return settings.sandbox_policy
    trusted = settings.guides is not None and was_trusted(settings.guides, cwd)
    return read_workspace_write(root) if trusted else ReadOnly()


def _with_directories(policy: SandboxPolicy, cwd: str, add_dirs: Sequence[str]) -> SandboxPolicy:
    added = tuple(os.path.normpath(os.path.join(cwd, path)) for path in add_dirs)
    match policy:
        case WorkspaceWrite(writable_roots=roots):
            return attrs.evolve(policy, writable_roots=(*roots, *added))
        case Profiled(profile=profile):
            return attrs.evolve(policy, profile=add_roots(profile, added))
        case _:
            return policy
