"""What the machine says of its user: shell and time zone."""

from __future__ import annotations

import os
from collections.abc import Mapping

_ZONES = "/zoneinfo/"


def find_shell(environ: Mapping[str, str]) -> str:
    """Absolute path of the user's shell; ``/bin/bash`` or ``/bin/sh`` if ``SHELL`` is no help."""
    for path in (environ.get("SHELL", ""), "/bin/bash"):
        if os.path.isabs(path) and os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def find_timezone(environ: Mapping[str, str], localtime: str = "/etc/localtime") -> str:
    """Name of the time zone, as in ``Europe/Berlin``; ``UTC`` if nothing tells."""
    if zone := environ.get("TZ", "").removeprefix(":"):
        return zone.rpartition(_ZONES)[2]
    return os.path.realpath(localtime).partition(_ZONES)[2] or "UTC"
