"""HTTP on connections of our own: h11 on a stream of Trio's, and nothing in between.

A library passes each piece of an answer through half a dozen generators, and every request
through as many objects; for a short answer that costs more than all else that a turn does. Here
an answer's pieces that came together are handed out together, and a request that is short goes
out in one piece.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import attrs
import h11
import trio

from ._line import LineBroke, LineSilent, join_headers

if TYPE_CHECKING:
    import httpx

CONNECT: Final = 30.0
"""Seconds for a connection to be made, TLS included."""
KEEP_ALIVE: Final = 90.0
"""Seconds that an idle connection is kept: tools run between two requests of a turn."""
_PIECE: Final = 64 * 1024
_LARGEST_HEAD: Final = 100 * 1024
"""Bytes that an answer's headers may have."""

_HEADS: Final = 256
"""Heads of requests that are kept: each thread has one of its own."""
_BROKEN: Final = (
    OSError,
    UnicodeError,  # a name that is none
    h11.ProtocolError,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
)


@final
@attrs.frozen(kw_only=True)
class Address:
    """Where requests are sent, ready to be."""

    host: str
    port: int
    target: bytes
    """The path, with the query."""
    shown: str
    """What servers are told that they are called."""
    secured: ssl.SSLContext | None
    """None: without TLS."""


def address_of(url: httpx.URL, context: ssl.SSLContext) -> Address:
    """Take an address apart; the context is for one that is secured."""
    secured = url.scheme == "https"
    return Address(
        host=url.raw_host.decode("ascii"),
        port=url.port or (443 if secured else 80),
        target=url.raw_path,
        shown=url.netloc.decode("ascii"),
        secured=context if secured else None,
    )


@final
@attrs.frozen
class _Head:
    """What a request begins with."""

    text: bytes
    """All of it, or all up to the length of the body."""
    has_length: bool
    likeness: h11.Request
    """The same for a request without a body."""


@final
@attrs.define(eq=False)
class _Wire:
    """One connection."""

    stream: trio.abc.Stream
    socket: trio.SocketStream
    idle_timeout: float
    http: h11.Connection = attrs.field(
        factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
    )
    free_until: float = 0.0
    broken: bool = False
    """Whether a request could not be sent to its end."""

    @property
    def expired(self) -> bool:
        """Whether it has been idle for too long."""
        return trio.current_time() > self.free_until

    @property
    def finished(self) -> bool:
        """Whether the server closed it, or says something that nobody asked for."""
        return self.socket.socket.is_readable()

    async def send(self, head: _Head, body: Sequence[bytes]) -> None:
        # The head is written already: h11 is only told of a request that is like it.
        self.http.send(head.likeness)
        self.http.send(h11.EndOfMessage())
        size = sum(map(len, body))
        pieces = [head.text, *body]
        if head.has_length:
            pieces[0] += b"%d\r\n\r\n" % size
        if size <= _PIECE:
            pieces = [b"".join(pieces)]
        try:
            for piece in pieces:
                await self.stream.send_all(piece)
        except trio.BrokenResourceError:
            # A server may refuse a request half-way; what it says then is worth reading.
            self.broken = True
            await trio.lowlevel.checkpoint()

    async def receive_head(self) -> h11.Response:
        while True:
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                await self.receive()
            elif isinstance(event, h11.Response):
                return event

    async def receive(self) -> None:
        data = await self.stream.receive_some(_PIECE)
        if not data and self.http.their_state is h11.SEND_RESPONSE:
            raise h11.RemoteProtocolError("Server disconnected without sending a response.")
        self.http.receive_data(bytes(data))

    async def receive_body(self) -> None:
        with trio.move_on_after(self.idle_timeout):
            await self.receive()
            return
        raise LineSilent(f"nothing came for {self.idle_timeout:g} seconds")


@final
class DirectLine:
    """A `Line` straight to a server.

    Args:
        address: The server.
        idle_timeout: Seconds of silence after which a connection counts as broken.
    """

    def __init__(self, address: Address, *, idle_timeout: float) -> None:
        self._address = address
        self._idle_timeout = idle_timeout
        self._free: list[_Wire] = []
        """The one that was used last is at the end."""
        self._open: set[_Wire] = set()
        self._closed = False
        self._heads: dict[tuple[object, ...], _Head] = {}

    async def send(self, headers: Mapping[str, str], body: Sequence[bytes] | None) -> DirectReply:
        """See `Line.send`."""
        try:
            request = self._head(headers, "GET" if body is None else "POST")
            wire = await self._wire()
            try:
                await wire.send(request, body or ())
                head = await wire.receive_head()
            except BaseException:
                await self.drop(wire)
                raise
        except _BROKEN as error:
            raise LineBroke from error
        return DirectReply(self, wire, head)

    async def aclose(self) -> None:
        """See `Line.aclose`."""
        self._closed = True
        self._free.clear()
        # Who is cancelled closes all of them, too; nothing in here waits.
        with trio.CancelScope(shield=True):
            for wire in tuple(self._open):
                await self.drop(wire)
        await trio.lowlevel.checkpoint()

    @property
    def closed(self) -> bool:
        """Whether no connection is to be kept any more."""
        return self._closed

    def keep(self, wire: _Wire) -> None:
        """Keep a connection for the next request. Not a checkpoint."""
        wire.http.start_next_cycle()
        wire.free_until = trio.current_time() + KEEP_ALIVE
        self._free.append(wire)

    async def drop(self, wire: _Wire) -> None:
        """Close a connection at once."""
        self._open.discard(wire)
        await trio.aclose_forcefully(wire.stream)

    async def _wire(self) -> _Wire:
        while self._free and self._free[0].expired:
            await self.drop(self._free.pop(0))
        while self._free:
            wire = self._free.pop()
            if not wire.finished:
                return wire
            await self.drop(wire)
        wire = await self._connect()
        if self._closed:
            await self.drop(wire)
            raise trio.ClosedResourceError("the line was closed meanwhile")
        self._open.add(wire)
        return wire

    async def _connect(self) -> _Wire:
        address = self._address
        with trio.move_on_after(CONNECT):
            socket = await trio.open_tcp_stream(address.host, address.port)
            if address.secured is None:
                return _Wire(socket, socket, self._idle_timeout)
            stream = trio.SSLStream(
                socket, address.secured, server_hostname=address.host, https_compatible=True
            )
            try:
                await stream.do_handshake()
            except BaseException:
                await trio.aclose_forcefully(socket)
                raise
            return _Wire(stream, socket, self._idle_timeout)
        raise LineBroke from TimeoutError(f"no connection within {CONNECT:g} seconds")

    def _head(self, headers: Mapping[str, str], method: str) -> _Head:
        """Return the head of a request: h11 checks and writes it, once for each thread's headers.

        Raises:
            h11.LocalProtocolError: if it cannot be sent.
        """
        key = method, *headers.items()
        if key not in self._heads:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[key] = self._new_head(headers, method)
        return self._heads[key]

    def _new_head(self, headers: Mapping[str, str], method: str) -> _Head:
        address = self._address
        # A host that somebody names is for a server that stands behind the one at the address.
        lines = list({"host": address.shown, "connection": "keep-alive", **headers}.items())
        has_length = method == "POST"
        if has_length:
            lines.append(("content-length", "0"))
        request = h11.Request(method=method, target=address.target, headers=lines)
        text = h11.Connection(h11.CLIENT).send(request) or b""
        if has_length:
            text = text.removesuffix(b"0\r\n\r\n")
        return _Head(text, has_length, request)


@final
class DirectReply:
    """A `Reply` to a `DirectLine`."""

    unpacked = False

    def __init__(self, line: DirectLine, wire: _Wire, head: h11.Response) -> None:
        self.status: int = head.status_code
        self.headers = join_headers(
            (name.decode("ascii"), _decode(value)) for name, value in head.headers
        )
        self._line = line
        self._wire: _Wire | None = wire
        self.ended = False
        self._error: h11.RemoteProtocolError | None = None

    async def receive_some(self) -> bytes | None:
        """See `Reply.receive_some`. All that has come already is one piece."""
        wire = self._wire
        if wire is None or self.ended:
            await trio.lowlevel.checkpoint()
            return None
        try:
            while not (piece := self._take(wire.http)) and not self.ended:
                await wire.receive_body()
        except _BROKEN as error:
            raise LineBroke from error
        except trio.Cancelled:
            await self.aclose()
            raise
        return piece or None

    async def aclose(self) -> None:
        """See `Reply.aclose`."""
        wire, self._wire = self._wire, None
        if wire is None:
            return
        both = {wire.http.our_state, wire.http.their_state}
        used_up = wire.broken or wire.http.trailing_data[0] or self._line.closed
        if both == {h11.DONE} and not used_up:
            self._line.keep(wire)
        else:
            await self._line.drop(wire)

    def _take(self, http: h11.Connection) -> bytes:
        """Return what has come of the body; nothing if that is to be waited for, or all was."""
        if self._error is not None:
            raise self._error
        pieces: list[bytes] = []
        try:
            while isinstance(event := http.next_event(), h11.Data):
                pieces.append(event.data)
            self.ended = event is not h11.NEED_DATA
        except h11.RemoteProtocolError as error:
            if not pieces:
                raise
            self._error = error  # for who asks next: what came before it still counts
        return b"".join(pieces)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")
