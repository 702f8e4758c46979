"""Where settings, keys and rollouts live."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._errors import SettingsError

VARIABLES = ("CODEX_ACTORS_HOME", "CODEX_HOME")


def find_home(environ: Mapping[str, str]) -> str:
    """Absolute path of the home directory, which exists when this returns.

    ``CODEX_ACTORS_HOME``, else ``CODEX_HOME``, else ``~/.codex-actors``. The last is
    created, for its owner alone, if it is missing; a directory that a variable names is
    not, for a name that leads nowhere is more often a slip than a wish.

    Raises:
        SettingsError: The variable names no directory, or there is no default.
    """
    for variable in VARIABLES:
        if path := environ.get(variable):
            return _existing_directory(path, variable)
    return _default_directory(environ)


def _existing_directory(path: str, variable: str) -> str:
    if not os.path.isdir(path):
        raise SettingsError(
            f"there is no directory {path!r}; create it, or unset the variable",
            source=f"environment variable {variable}",
            expected="an existing directory",
            got=repr(path),
        )
    return os.path.realpath(path)


def _default_directory(environ: Mapping[str, str]) -> str:
    user_home = environ.get("HOME")
    if not user_home:
        raise SettingsError(
            "no home directory: neither HOME nor CODEX_ACTORS_HOME is set; set one of them"
        )
    path = os.path.join(os.path.realpath(user_home), ".codex-actors")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            "cannot be created; set CODEX_ACTORS_HOME to a directory of yours: "
            + str(error.strerror).lower(),
            source=path,
        ) from error
    return path
