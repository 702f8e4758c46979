"""Model servers and model clients that misbehave on purpose."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias, assert_never, final

import attrs
import httpx
import trio

from ..models import ModelClient, ModelError, Prompt, StreamDisconnected
from ..protocol import ModelEvent

Ending: TypeAlias = Literal["close", "hang", "break"]


def sse(type: str, **fields: Any) -> bytes:  # noqa: A002 - it is the API's name for it
    """Return one event of a response stream as it goes over a connection."""
    data = json.dumps({"type": type, **fields}, ensure_ascii=False)
    return f"event: {type}\ndata: {data}\n\n".encode()


def sse_transport(
    *pieces: bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    ending: Ending = "close",
) -> httpx.MockTransport:
    """Return a transport that gives every request the same answer.

    Args:
        pieces: The body, cut as it shall come in.
        status: HTTP status.
        headers: Further headers of the answer.
        ending: What comes after the last piece: the end of the body, silence, or an error of
            the connection.
    """
    all_headers = {"content-type": "text/event-stream", **(headers or {})}

    async def answer(request: httpx.Request) -> httpx.Response:
        await trio.lowlevel.checkpoint()
        silence = request.extensions["timeout"]["read"]
        return httpx.Response(
            status, headers=all_headers, stream=_Pieces(pieces, ending, float(silence))
        )

    return httpx.MockTransport(answer)


@final
@attrs.frozen
class _Pieces(httpx.AsyncByteStream):
    pieces: Sequence[bytes]
    ending: Ending
    silence: float

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            await trio.lowlevel.checkpoint()
            yield piece
        match self.ending:
            case "close":
                pass
            case "hang":
                await trio.sleep(self.silence)
                raise httpx.ReadTimeout("nothing came")
            case "break":
                raise httpx.ReadError("connection reset")
            case _:
                assert_never(self.ending)

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@attrs.frozen
class BreakAfter:
    """The stream breaks after so many events."""

    events: int
    error: ModelError = attrs.field(factory=lambda: StreamDisconnected("the test broke the stream"))


@attrs.frozen
class HangAfter:
    """The stream says nothing more after so many events, for ever."""

    events: int


Fault: TypeAlias = ModelError | BreakAfter | HangAfter | None
"""What happens to one request: it is refused, breaks, hangs, or is left alone."""


@final
class FaultyClient:
    """A client whose requests meet the faults given, one after another; later ones meet none.

    Args:
        inner: Who answers.
        faults: One per request.
    """

    def __init__(self, inner: ModelClient, *faults: Fault) -> None:
        self.prompts: list[Prompt] = []
        """The prompts of all requests so far."""
        self._inner = inner
        self._faults = list(faults)

    @asynccontextmanager
    async def stream(
        self, prompt: Prompt
    ) -> AsyncGenerator[trio.abc.ReceiveChannel[ModelEvent], None]:
        """Ask the inner client, unless the fault of this request forbids it.

        Raises:
            ModelError: the fault of this request.
        """
        self.prompts.append(prompt)
        fault = self._faults.pop(0) if self._faults else None
        if isinstance(fault, ModelError):
            await trio.lowlevel.checkpoint()
            raise fault
        async with self._inner.stream(prompt) as channel:
            yield channel if fault is None else _FaultyChannel(channel, fault)


@final
@attrs.define(eq=False)
class _FaultyChannel(trio.abc.ReceiveChannel[ModelEvent]):
    inner: trio.abc.ReceiveChannel[ModelEvent]
    fault: BreakAfter | HangAfter
    received: int = 0

    async def receive(self) -> ModelEvent:
        if self.received < self.fault.events:
            self.received += 1
            return await self.inner.receive()
        await trio.lowlevel.checkpoint()
        if isinstance(self.fault, BreakAfter):
            raise self.fault.error
        await trio.sleep_forever()
        raise AssertionError("sleep_forever returned")

    async def aclose(self) -> None:
        await self.inner.aclose()
