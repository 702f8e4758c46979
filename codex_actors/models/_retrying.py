"""Requests that are sent again until a response begins."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import final

import trio

from ..core._retry import Retry
from ..protocol import ModelEvent
from ._client import ModelClient, Prompt
from ._errors import ModelError

logger = logging.getLogger(__name__)


@final
class RetryingClient:
    """Sends a request again when the server failed or was not reached.

    It gives up once the answer's headers are here: from then on the caller acts on what it sees,
    and only it can sample anew. Statuses below 500, 429 among them, are not retried.

    Args:
        inner: Who sends the requests.
        retry: How often, and after what waits.
        jitter: Draws the factor from 0.9 to 1.1 that keeps clients apart.
    """

    def __init__(
        self,
        inner: ModelClient,
        retry: Retry,
        *,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self._inner = inner
        self._retry = retry
        self._jitter = jitter or _draw_jitter

    def stream(
        self, prompt: Prompt
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[ModelEvent]]:
        """Ask the inner client, again and again if need be.

        Raises:
            ModelError: what the last request failed with.
        """
        return _Attempts(self._inner, prompt, self._retry, self._jitter)


@final
class _Attempts(AbstractAsyncContextManager[trio.abc.ReceiveChannel[ModelEvent]]):
    """The inner client's streams, one after another until one begins.

    By hand, since a generator and an exit stack around each request cost more than they say.
    """

    def __init__(
        self, inner: ModelClient, prompt: Prompt, retry: Retry, jitter: Callable[[], float]
    ) -> None:
        self._inner = inner
        self._prompt = prompt
        self._retry = retry
        self._jitter = jitter

    async def __aenter__(self) -> trio.abc.ReceiveChannel[ModelEvent]:
        while True:
            self._stream = self._inner.stream(self._prompt)
            try:
                return await self._stream.__aenter__()
            except ModelError as error:
                if not may_repeat(error):
                    raise
                wait = self._retry.after(error.retry_after, self._jitter())
                if wait is None:
                    raise
                _log_failure(self._prompt, error, wait[0])
            delay, self._retry = wait
            await trio.sleep(delay)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)


def _log_failure(prompt: Prompt, error: ModelError, delay: float) -> None:
    logger.info(
        "the request failed and is sent again in %.2f s: %s",
        delay,
        error,
        extra={"thread_id": prompt.thread_id, "turn_id": prompt.turn_id},
    )


def may_repeat(error: ModelError) -> bool:
    """Return whether a request that failed so may be sent again as it is."""
    return error.repeatable or (error.status is not None and error.status >= 500)


def _draw_jitter() -> float:
    return random.uniform(0.9, 1.1)
