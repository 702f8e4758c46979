"""What the library needs from a model provider."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import attrs
import trio

from ..protocol import ModelEvent


@attrs.frozen(kw_only=True)
class Prompt:
    """Everything that one request tells the model, and who is asking.

    Items and tools are carried as JSON that was encoded when they were made, so that a
    long history costs a request no more than joining its bytes.
    """

    model: str
    """The model's slug."""
    input: Sequence[bytes]
    """The history, one JSON object per item."""
    instructions: str = ""
    tools: bytes = b"[]"
    """A JSON array of tool specifications."""
    parallel_tool_calls: bool = True
    effort: str | None = None
    summary: str | None = None
    """None: leave it out of the request."""
    verbosity: str | None = None
    service_tier: str | None = None
    output_schema: Any = None
    """JSON schema that the last message must satisfy."""
    session_id: str = ""
    """The root's thread id, for every agent of a tree; also the prompt cache key."""
    thread_id: str = ""
    turn_id: str = ""
    originator: str = "codex_actors"
    metadata: bytes = b"{}"
    """A JSON object of strings: ``client_metadata`` of the request."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further request headers."""


class ModelClient(Protocol):
    """A model that answers in a stream.

    The stream ends (`trio.EndOfChannel`) after a
    `codex_actors.protocol.ResponseCompleted`, and only then. Anything else raises a
    `codex_actors.models.ModelError`, out of ``receive`` or on entering the ``async with``.
    Leaving the ``async with`` early closes the connection at once.

    An implementation may repeat a request as long as it has not yielded an event;
    afterwards it must not: the caller has acted on what it saw.
    """

    def stream(
        self, prompt: Prompt
    ) -> AbstractAsyncContextManager[trio.abc.ReceiveChannel[ModelEvent]]:
        """Ask the model to go on from ``prompt``."""
        ...
