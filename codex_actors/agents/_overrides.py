"""Changing settings between turns."""

from __future__ import annotations

import os.path
from typing import Any

import attrs

from ..config import find_model
from ..core import sandbox_mode
from ..protocol import DangerFullAccess, Overrides, SandboxPolicy, Settings
from ._errors import SandboxUnavailable


def apply_overrides(settings: Settings, overrides: Overrides) -> Settings:
    """Return the settings with every override that was given; they stay.

    Without one it is the same value, and what was made from it stays good: tools, for one.
    """
    changes: dict[str, Any] = {
        name: value
        for name in ("approval_policy", "sandbox_policy", "effort", "summary")
        if (value := getattr(overrides, name)) is not None
    }
    if overrides.cwd is not None:
        changes["cwd"] = os.path.normpath(os.path.join(settings.cwd, overrides.cwd))
    if overrides.model is not None:
        changes["model"] = find_model(overrides.model, settings.models)
    return attrs.evolve(settings, **changes) if changes else settings


def check_sandbox(policy: SandboxPolicy | None) -> None:
    """Refuse what cannot be enforced.

    Raises:
        SandboxUnavailable: for every policy but full access, until there is a sandbox.
    """
    if not isinstance(policy, DangerFullAccess):
        raise SandboxUnavailable(None if policy is None else sandbox_mode(policy))
