"""What a check of `codex-actors doctor` looks at, and what it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeAlias, final

import attrs

from ..config import Loaded, SettingsError

State: TypeAlias = Literal["ok", "note", "broken"]
"""``note``: works, and should be known; ``broken``: `exec` cannot work until it is mended."""


@final
@attrs.frozen
class Finding:
    """What one check found."""

    name: str
    state: State
    detail: str
    remedy: str | None = None
    """What to do about it."""


@final
@attrs.frozen(kw_only=True)
class Surroundings:
    """What all checks start from: read once, before any of them runs."""

    environ: Mapping[str, str] = attrs.field(repr=False)
    home: str | SettingsError
    """Absolute path of the home directory, or why there is none."""
    loaded: Loaded | None = None
    """None: the settings could not be loaded."""
    config_error: SettingsError | None = None
    key_error: SettingsError | None = None
    """The settings are right, but for the key that they lead to."""


Check: TypeAlias = Callable[[Surroundings], Awaitable[Finding]]
