"""The root of the exception tree; the branches live beside what raises them."""

from __future__ import annotations


class CodexActorsError(Exception):
    """Base class of everything that codex_actors raises on purpose."""


class InternalError(CodexActorsError):
    """A bug in codex_actors. Please report it, with the traceback."""
