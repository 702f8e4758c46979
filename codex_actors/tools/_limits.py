"""What a tool may do, where it does it, and how much of its output the model is shown."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Final

from ..core import NO_EXTRA, Reach, ReachRule, tokens_of_bytes, widen
from ..protocol import (
    Bound,
    ExtraPermissions,
    ManagedProfile,
    ReadOnly,
    Settings,
    TruncationPolicy,
)
from ..sandbox import bounded_reach, keep_home, resolve_reach

DEFAULT_OUTPUT_TOKENS: Final = 10_000
"""Tokens of output that a command's call gets when the model does not say; as Codex does."""


def absolute(path: str, cwd: str) -> str:
    """Return where a path leads that a model wrote. Nothing is looked up."""
    return os.path.normpath(os.path.join(cwd, path))


def leads_to(path: str) -> str:
    """Return where links lead on the way of an absolute path. Blocks. What is no path stays."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def reach_of(settings: Settings, extra: ExtraPermissions = NO_EXTRA) -> Reach:
    """Return what this program itself may touch on behalf of an agent. Blocks.

    Who chose no policy may read only.

    Args:
        settings: The agent's.
        extra: What it may touch beyond its policy.
    """
    own = Bound(policy=settings.sandbox_policy or ReadOnly(), cwd=settings.cwd)
    reach = bounded_reach((own, *settings.bounds), settings.environment)
    if extra != NO_EXTRA:
        more = ManagedProfile(entries=extra.files)
        beyond = resolve_reach(more, settings.cwd, settings.environment, writable=reach.writable)
        reach = widen(reach, beyond)
    return keep_home(reach, settings.home)


def widen_to(reach: Reach, paths: Iterable[str]) -> Reach:
    """Return a reach where these files may be written, too, and their folders made. Blocks.

    Args:
        reach: What it denies by name stays denied.
        paths: Absolute, normalised, and without links.
    """
    rules = [ReachRule(_first_missing(path), "write") for path in paths]
    return widen(reach, Reach(rules=rules, network=False))


def _first_missing(path: str) -> str:
    """Return the outermost of a path and the folders above it that is not there yet."""
    while not os.path.lexists(above := os.path.dirname(path)):
        path = above
    return path


def output_limit(settings: Settings, requested: int | None) -> TruncationPolicy:
    """Return how much of a command's output the model is shown.

    Args:
        settings: Their model's policy is the most.
        requested: What the model asked for, in tokens.
    """
    most = _most(settings)
    tokens = DEFAULT_OUTPUT_TOKENS if requested is None else requested
    if tokens >= tokens_of_bytes(most.max_bytes):
        return most
    return TruncationPolicy("tokens", tokens)


def _most(settings: Settings) -> TruncationPolicy:
    own, limit = settings.model.truncation, settings.tool_output_token_limit
    if limit is None:
        return own
    in_own_unit = TruncationPolicy("tokens", limit)
    return in_own_unit if own.mode == "tokens" else TruncationPolicy("bytes", in_own_unit.max_bytes)
