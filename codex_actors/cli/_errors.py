"""What the command line has against its words."""

from __future__ import annotations

from .._errors import CodexActorsError


class UsageError(CodexActorsError):
    """The command line asks for something that cannot be."""
