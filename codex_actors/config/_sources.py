"""The layers that settings are made of: files, profile, overrides, flags."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import attrs

from ._errors import SettingsError, find_nearest
from ._files import list_names, read_text
from ._layers import Layer, merge_layers
from ._lines import find_lines
from ._table import Table
from ._toml import parse_file, parse_overrides

# As the reference has it: a profile's name is part of the name of a file.
_PROFILE: Final = re.compile(r"[\w-]+", re.ASCII)
_SUFFIX: Final = ".config.toml"


@final
@attrs.frozen(kw_only=True)
class Sources:
    """Where settings come from. Nothing has been read yet."""

    home: str
    """Absolute path of the home directory, from `find_home`."""
    cwd: str
    """Absolute working directory of the agent."""
    overrides: Sequence[str] = ()
    """``key=value`` as given to ``-c``, in order."""
    flags: Mapping[str, Any] = attrs.field(factory=dict)
    """What other options of the command line say, by key; None values are ignored."""
    profile: str | None = None
    """NAME of ``<home>/NAME.config.toml``, which lies over ``config.toml``."""
    ignore_user_config: bool = False
    """Do without ``config.toml``."""


def read_sources(sources: Sources, environ: Mapping[str, str]) -> Table:
    """Read all layers and lay them over each other; the top table is what comes out.

    Raises:
        SettingsError: a file cannot be read, is no TOML, or is not there; or an override
            is none.
    """
    overrides = parse_overrides(sources.overrides, base=sources.cwd)
    _refuse_profile_overrides(overrides, sources)
    flags = {key: value for key, value in sources.flags.items() if value is not None}
    layers = [
        *_read_files(sources),
        *overrides,
        Layer("command line", flags, sources.cwd),
    ]
    return lay_layers(layers, environ)


def lay_layers(layers: Sequence[Layer], environ: Mapping[str, str]) -> Table:
    """The top table of ``layers`` laid over each other."""
    merged = merge_layers(layers, user_home=environ.get("HOME") or None)
    return Table(merged.values, merged)


def _read_files(sources: Sources) -> list[Layer]:
    path = os.path.join(sources.home, "config.toml")
    common = None if sources.ignore_user_config else _read_layer(path, sources.home)
    found = [] if common is None else [common]
    if common is not None:
        _refuse_old_profiles(common, sources)
    return found if sources.profile is None else [*found, _read_profile(sources, sources.profile)]


def _read_layer(path: str, base: str) -> Layer | None:
    text = read_text(path)
    if text is None:
        return None
    values = parse_file(text, path)
    return Layer(path, values, base, find_lines(text))


def _read_profile(sources: Sources, name: str) -> Layer:
    if not _PROFILE.fullmatch(name):
        raise SettingsError(
            "the name of a profile has letters, digits, '-' and '_' only",
            source=f"--profile {name!r}",
        )
    path = os.path.join(sources.home, name + _SUFFIX)
    layer = _read_layer(path, sources.home)
    if layer is None:
        there = [n.removesuffix(_SUFFIX) for n in list_names(sources.home) if n.endswith(_SUFFIX)]
        raise SettingsError(
            f"there is no {path}; create it, or leave the profile out",
            source=f"--profile {name}",
            suggestion=find_nearest(name, there),
        )
    return layer


def _refuse_old_profiles(layer: Layer, sources: Sources) -> None:
    name = layer.values.get("profile")
    tables = layer.values.get("profiles")
    if name is not None:
        raise SettingsError(
            f"is not a setting any more; move [profiles.{name}] to"
            f" {sources.home}/{name}{_SUFFIX}, and choose it with --profile {name}",
            source=layer.place(("profile",)),
            key="profile",
        )
    if sources.profile is not None and isinstance(tables, dict) and sources.profile in tables:
        raise SettingsError(
            f"has no effect; move it to {sources.home}/{sources.profile}{_SUFFIX}",
            source=layer.place(("profiles", sources.profile)),
            key=f"profiles.{sources.profile}",
        )


def _refuse_profile_overrides(layers: Sequence[Layer], sources: Sources) -> None:
    for layer in layers:
        if "profile" in layer.values:
            name = layer.values["profile"]
            raise SettingsError(
                f"is not a setting any more; write --profile {name}, which lays"
                f" {sources.home}/{name}{_SUFFIX} over config.toml",
                source=layer.name,
                key="profile",
            )
