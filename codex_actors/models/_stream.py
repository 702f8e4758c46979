"""The events of one answer, pulled from its socket by whoever receives them.

There is no task and no channel between the socket and the receiver: what a piece of the body
holds is decoded at once and handed out event by event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NoReturn, final

import trio

from ..core._responses import ResponseReader, StreamFailure
from ..core._sse import SseDecoder, SseError
from ..protocol import ModelEvent
from ..wire._responses import decode_payloads
from ._errors import ModelError, ModelProtocolError, StreamDisconnected
from ._failures import error_from_failure
from ._transport import Answer

_RUN: Final = 64
"""Events that are handed out between two checkpoints: about 0.1 ms of work."""


@final
class ResponseChannel(trio.abc.ReceiveChannel[ModelEvent]):
    """Receives the events of one response; for one task at a time.

    Args:
        answer: The answer, whose headers were read.
        first: Events that its headers gave.
        server_model: The model that its headers named.
        idle_timeout: Seconds without an event after which the stream counts as broken.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        first: Iterable[ModelEvent],
        server_model: str | None,
        request_id: str | None,
        idle_timeout: float,
    ) -> None:
        self._answer = answer
        self._request_id = request_id
        self._idle_timeout = idle_timeout
        self._decoder = SseDecoder()
        self._reader = ResponseReader(server_model)
        self._ready: deque[ModelEvent] = deque(first)
        self._run = 0
        self._error: ModelError | None = None
        self._open = True
        self._reading = False
        self._silent_since: float | None = None

    async def receive(self) -> ModelEvent:
        """Return the next event.

        Not every call is a checkpoint: events that are here already are handed out in runs.

        Raises:
            trio.EndOfChannel: after `ResponseCompleted`.
            trio.ClosedResourceError: if the channel is closed.
            ModelError: if the stream broke off, fell silent, or is no event stream.

        Cancellation:
            Ends the stream, unless events are left: the next call raises `StreamDisconnected`.
        """
        if self._run >= _RUN:
            await trio.lowlevel.checkpoint()
            self._run = 0
        self._run += 1
        if not self._ready:
            await self._fill()
        return self._ready.popleft()

    async def __anext__(self) -> ModelEvent:
        # As the base class has it, with a short cut: this runs once per token of text.
        if self._ready and self._run < _RUN:
            self._run += 1
            return self._ready.popleft()
        try:
            return await self.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Let go of the connection: kept for the next request when the response was completed."""
        await self.release()
        await trio.lowlevel.checkpoint()

    async def release(self) -> None:
        """Do as `aclose`, without a checkpoint when there is nothing to wait for."""
        if self._open:
            self._open = False
            self._ready.clear()
            try:
                if self._reader.over and not self._answer.ended:
                    await self._answer.drain()
            finally:
                await self._answer.aclose()

    async def _fill(self) -> None:
        if self._reading:
            raise trio.BusyResourceError("another task is receiving from this stream")
        self._reading = True
        try:
            while not self._ready:
                await self._read()
        finally:
            self._reading = False

    async def _read(self) -> None:
        if self._reader.over and self._open:
            # No checkpoint: whoever has the last event in hand is to be done with it.
            self._finish()
        if not self._open or self._error is not None:
            await trio.lowlevel.checkpoint()
            self._finish()
        try:
            piece = await self._answer.receive_some()
        except StreamDisconnected as error:
            self._error = self._explained(error)
            raise self._error from error
        if piece is None:
            await trio.lowlevel.checkpoint()
            self._finish()
        self._decode(piece)

    def _decode(self, piece: bytes) -> None:
        try:
            events = self._decoder.feed(piece)
        except SseError as error:
            self._error = ModelProtocolError(str(error), request_id=self._request_id)
            raise self._error from error
        self._ready += self._reader.receive(decode_payloads(events))
        if events:
            self._silent_since = None
        else:
            self._watch_silence()

    def _watch_silence(self) -> None:
        """Fail when a server has only been keeping the connection alive for too long.

        A socket that says nothing at all is the transport's to watch.
        """
        now = trio.current_time()
        if self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= self._idle_timeout:
            self._fail(
                self._reader.failure
                or StreamFailure(
                    message=f"the stream had no event for {self._idle_timeout:g} seconds"
                )
            )

    def _explained(self, error: StreamDisconnected) -> ModelError:
        """Prefer what the provider said went wrong to the end of its connection."""
        failure = self._reader.failure
        return error if failure is None else error_from_failure(failure, self._request_id)

    def _finish(self) -> NoReturn:
        if not self._open:
            raise trio.ClosedResourceError
        if self._error is not None:
            raise self._error
        failure = self._reader.end()
        if failure is None:
            raise trio.EndOfChannel
        self._fail(failure)

    def _fail(self, failure: StreamFailure) -> NoReturn:
        self._error = error_from_failure(failure, self._request_id)
        raise self._error
