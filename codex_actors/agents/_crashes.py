"""What an agent crashed of."""

from __future__ import annotations


def find_crash(error: BaseException) -> Exception | None:
    """Return the first crash among what a nursery raised; None: nothing but cancellation."""
    while isinstance(error, BaseExceptionGroup):
        crashes = error.split(Exception)[0]
        if crashes is None:
            return None
        error = crashes.exceptions[0]
    return error if isinstance(error, Exception) else None
