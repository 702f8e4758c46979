"""A script over HTTP: a server of the Responses API for tests, demonstrations and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final, final

import attrs
import h11
import msgspec
import trio

from ..wire._json import encode_json
from ._errors import InvalidScript, ScriptMismatch
from ._script import Script
from ._script_events import Action, Cut, Frame, Pause, Refusing, render
from ._script_plan import ScriptedRequest, plan

_READ: Final = 64 * 1024
_BACKLOG: Final = 1024
_STREAM: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"transfer-encoding", b"chunked"),
]


@attrs.frozen(kw_only=True)
class RecordedRequest:
    """A request as it came over the connection."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@attrs.frozen(kw_only=True)
class ServerStatistics:
    """What a scripted server has done so far."""

    requests: int
    open_streams: int
    disconnected: int
    """Streams whose client hung up before they were complete."""


@final
@attrs.define(eq=False)
class ScriptedServer:
    """A running server."""

    script: Script
    base_url: str = ""
    """What a provider's ``base_url`` must be."""
    _record: trio.MemorySendChannel[RecordedRequest] | None = None
    _requests: int = attrs.field(default=0, init=False)
    _open_streams: int = attrs.field(default=0, init=False)
    _disconnected: int = attrs.field(default=0, init=False)

    def statistics(self) -> ServerStatistics:
        """Return what happened so far."""
        return ServerStatistics(
            requests=self._requests,
            open_streams=self._open_streams,
            disconnected=self._disconnected,
        )

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer the requests of one connection until it ends."""
        async with stream:
            # The client hung up, or speaks something else: nobody is left to tell.
            with suppress(h11.RemoteProtocolError, trio.BrokenResourceError):
                await self._serve_requests(_Connection(stream))

    async def _serve_requests(self, connection: _Connection) -> None:
        while (request := await connection.next_request()) is not None:
            self._requests += 1
            if self._record is not None:
                self._record.send_nowait(request)
            if not await self._answer(connection, request) or not connection.start_next():
                return

    async def _answer(self, connection: _Connection, request: RecordedRequest) -> bool:
        """Answer one request; return whether the connection can go on."""
        answer = self._choose(request)
        if isinstance(answer, Refusing):
            await connection.send_whole(answer)
            return True
        self._open_streams += 1
        try:
            whole = await connection.send_stream(answer)
            self._disconnected += not whole
        except trio.BrokenResourceError:
            self._disconnected += 1
            raise
        finally:
            self._open_streams -= 1
        return whole

    def _choose(self, request: RecordedRequest) -> Sequence[Action] | Refusing:
        if not request.path.partition("?")[0].rstrip("/").endswith("/responses"):
            return _refuse(404, "there is only /responses here")
        try:
            items = [bytes(item) for item in _BODY.decode(request.body).input]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _refuse(400, f"the body is no request: {error}")
        subagent = request.headers.get("x-openai-subagent")
        try:
            return render(plan(self.script, ScriptedRequest(input=items, subagent=subagent)))
        except (ScriptMismatch, InvalidScript) as error:
            return _refuse(400, str(error))


async def serve_scripted(
    script: Script,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    record: trio.MemorySendChannel[RecordedRequest] | None = None,
    task_status: trio.TaskStatus[ScriptedServer] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve a script over HTTP until cancelled; ``started`` with the running server.

    Args:
        script: What to answer.
        host: Address to listen on.
        port: TCP port; 0 takes a free one.
        record: Where each request is put as it comes; must be unbounded, or read fast enough.
        task_status: Told the server once it listens.

    Raises:
        OSError: if the address cannot be listened on.

    Cancellation:
        Cuts all streams.
    """
    listeners = await trio.open_tcp_listeners(port, host=host, backlog=_BACKLOG)
    taken = listeners[0].socket.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    server = ScriptedServer(script, f"http://{named}:{taken}/v1", record)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_listeners, server.serve, listeners))
        task_status.started(server)


@attrs.frozen
class _Body:
    input: list[msgspec.Raw] = attrs.field(factory=list[msgspec.Raw])


_BODY: Final = msgspec.json.Decoder(_Body)


def _refuse(status: int, message: str) -> Refusing:
    return Refusing(status=status, body=encode_json({"error": {"message": message}}), headers={})


@final
class _Connection:
    """One connection of one client: h11 and the socket it talks through."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def next_request(self) -> RecordedRequest | None:
        """Return the next request; None when the client has hung up."""
        head: h11.Request | None = None
        body: list[bytes] = []
        while True:
            match await self._next_event():
                case h11.Request() as request:
                    head = request
                case h11.Data() as piece:
                    body.append(bytes(piece.data))
                case h11.EndOfMessage() if head is not None:
                    return RecordedRequest(
                        path=head.target.decode("latin-1"),
                        headers={k.decode(): v.decode("latin-1") for k, v in head.headers},
                        body=b"".join(body),
                    )
                case _:
                    return None

    async def _next_event(self) -> h11.Event | None:
        while not isinstance(event := self._http.next_event(), h11.Event):
            if event is h11.PAUSED:
                return None
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(bytes(await self._stream.receive_some(_READ)))
        return event

    def start_next(self) -> bool:
        """Make ready for the next request; return whether there can be one."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def send_whole(self, answer: Refusing) -> None:
        """Send an answer that does not stream."""
        headers = {
            "content-type": "application/json",
            **answer.headers,
            "content-length": str(len(answer.body)),
        }
        head = h11.Response(status_code=answer.status, headers=list(headers.items()))
        await self._send(head, h11.Data(data=answer.body), h11.EndOfMessage())

    async def send_stream(self, actions: Sequence[Action]) -> bool:
        """Send a stream; return whether it went out whole.

        Events that follow each other without a pause go out in one piece.
        """
        events: list[h11.Event] = [h11.Response(status_code=200, headers=_STREAM)]
        ready: list[bytes] = []
        for action in actions:
            match action:
                case Frame():
                    ready.append(action.sse)
                case Pause(seconds):
                    await self._send(*events, h11.Data(data=b"".join(ready)))
                    events, ready = [], []
                    if not await self._pause(seconds):
                        return False
                case Cut():
                    await self._send(*events, h11.Data(data=b"".join(ready)))
                    return False
        await self._send(*events, h11.Data(data=b"".join(ready)), h11.EndOfMessage())
        return True

    async def _pause(self, seconds: float) -> bool:
        """Wait; return False at once when the client hangs up."""
        with trio.move_on_after(seconds):
            while data := await self._stream.receive_some(_READ):
                self._http.receive_data(bytes(data))
            return False
        return True

    async def _send(self, *events: h11.Event) -> None:
        data = [self._http.send(event) or b"" for event in events]
        await self._stream.send_all(b"".join(data))
