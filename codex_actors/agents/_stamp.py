"""Time as the files have it."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(now: float) -> str:
    """Return Unix seconds as ``YYYY-MM-DDThh:mm:ss.mmmZ``, in UTC."""
    when = datetime.fromtimestamp(now, UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"
