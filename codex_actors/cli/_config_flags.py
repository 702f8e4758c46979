"""The options that say which settings hold; several commands have them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs

from ..config import Loaded, Sources, find_home, load_settings
from ._errors import UsageError

MODES: Final = ("read-only", "workspace-write", "danger-full-access")
LOCAL: Final = ("ollama", "lmstudio", "llamacpp")


@final
@attrs.frozen(kw_only=True)
class ConfigFlags:
    """What the command line says of settings."""

    model: str | None = None
    sandbox: str | None = None
    directory: str | None = None
    overrides: tuple[str, ...] = ()
    profile: str | None = None
    add_dirs: tuple[str, ...] = ()
    strict: bool = False
    ignore_user_config: bool = False
    oss: bool = False
    """Whether a server on this machine is to be asked."""
    local_provider: str | None = None
    """Which one; None: the first that answers."""
    provider: str | None = None
    """The one that was found."""


def add_overrides(
    parser: argparse.ArgumentParser, told: str = "override a key of config.toml, as with exec"
) -> None:
    """Let a command take ``-c KEY=VALUE``, as often as wanted."""
    parser.add_argument(
        "-c", "--config", action="append", default=[], metavar="KEY=VALUE", help=told
    )


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    """Let a command take the options."""
    add = parser.add_argument
    add("-m", "--model", help="the model to ask")
    add("-s", "--sandbox", choices=MODES, help="what commands may touch")
    add("-C", "--cd", metavar="DIR", help="the directory to work in")
    add_overrides(
        parser, "override a key of config.toml; the value is TOML, or else a plain string"
    )
    add("--oss", action="store_true", help="ask a server on this machine, for a model it has")
    add("--local-provider", choices=LOCAL, help="the same as --oss, and which server to ask")
    add("-p", "--profile", metavar="NAME", help="lay NAME.config.toml over config.toml")
    add(
        "--enable",
        action="append",
        default=[],
        metavar="FEATURE",
        help="the same as -c features.FEATURE=true",
    )
    add(
        "--disable",
        action="append",
        default=[],
        metavar="FEATURE",
        help="the same as -c features.FEATURE=false",
    )
    add(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="let commands write there, too, if the mode is workspace-write",
    )
    add("--strict-config", action="store_true", help="take a key that nobody knows for an error")
    add("--ignore-user-config", action="store_true", help="do without config.toml")
    add(
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
        dest="bypass",
        action="store_true",
        help="the same as -s danger-full-access",
    )


def read_config_flags(given: argparse.Namespace) -> ConfigFlags:
    """Return what the options say."""
    return ConfigFlags(
        model=given.model,
        sandbox="danger-full-access" if given.bypass else given.sandbox,
        directory=given.cd,
        overrides=(*given.config, *_features(given)),
        profile=given.profile,
        add_dirs=tuple(given.add_dir),
        strict=given.strict_config,
        ignore_user_config=given.ignore_user_config,
        oss=given.oss,
        local_provider=given.local_provider,
    )


def _features(given: argparse.Namespace) -> Iterator[str]:
    yield from (f"features.{name}=true" for name in given.enable)
    yield from (f"features.{name}=false" for name in given.disable)


def find_directory(flags: ConfigFlags) -> str:
    """Return the absolute path of the directory to work in.

    Raises:
        UsageError: if there is no such directory, or the working directory was deleted.
    """
    directory = _absolute(flags.directory or os.curdir)
    if not os.path.isdir(directory):
        raise UsageError(f"there is no directory {directory!r}; give another one with -C")
    return directory


def _absolute(directory: str) -> str:
    try:
        return os.path.abspath(directory)
    except FileNotFoundError as exc:
        raise UsageError(
            "the working directory has been deleted; change to another one, or give one with an"
            " absolute path, as in -C /home"
        ) from exc


def load(flags: ConfigFlags, cwd: str, environ: Mapping[str, str]) -> Loaded:
    """Load the settings that hold. Blocks.

    Raises:
        SettingsError: if something is wrong with them.
    """
    return load_settings(
        home=find_home(environ),
        environ=environ,
        cwd=cwd,
        overrides=flags.overrides,
        flags=layer_of(flags),
        add_dirs=flags.add_dirs,
        profile=flags.profile,
        ignore_user_config=flags.ignore_user_config,
        strict=flags.strict,
    )


def sources_of(flags: ConfigFlags, environ: Mapping[str, str]) -> Sources:
    """Return where the settings come from. Blocks.

    Raises:
        SettingsError: if there is no home directory.
        UsageError: if there is no such working directory.
    """
    return Sources(
        home=find_home(environ),
        cwd=find_directory(flags),
        overrides=flags.overrides,
        flags=layer_of(flags),
        profile=flags.profile,
        ignore_user_config=flags.ignore_user_config,
    )


def layer_of(flags: ConfigFlags) -> dict[str, Any]:
    """Return what options other than ``-c`` say, by the keys of ``config.toml``."""
    return {
        "model": flags.model,
        "model_provider": flags.provider,
        "sandbox_mode": flags.sandbox,
    }
