"""A nursery behind an ``async with`` that does not show."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from ._errors import ProcessesCrashed


@asynccontextmanager
async def open_hidden_nursery() -> AsyncGenerator[trio.Nursery, None]:
    """Open a nursery that lets its body's exception through bare.

    Leaving the block cancels what runs in it.

    Raises:
        ProcessesCrashed: if a task in it failed; the group is the cause.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as exc:
                failure = exc
                raise
            finally:
                nursery.cancel_scope.cancel(reason="the block was left")
    except BaseExceptionGroup as group:
        # An outer cancellation that is pending comes along; it goes on at the next checkpoint.
        rest = group.split(trio.Cancelled)[1]
        if failure is None or rest is None or rest.exceptions != (failure,):
            _raise_crash(group)
    if failure is not None:
        raise failure


def _raise_crash(group: BaseExceptionGroup[BaseException]) -> None:
    if isinstance(group, ExceptionGroup):
        raise ProcessesCrashed from group
    raise group
