"""The HTTP door: the only module that knows which HTTP library is used.

Clients are sharded, because the cost of a connection pool grows with the square of its open
connections: 4,000 streams open in 14 s on one httpx client and in 6 s on forty. All share one
SSL context, which costs 20 ms to make.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from ._errors import BadProvider, ConnectionFailed, StreamDisconnected

if TYPE_CHECKING:
    import httpx

STREAMS_PER_CLIENT: Final = 100
"""Measured: below it a pool costs less than the request, above it more."""
_KEEP_ALIVE: Final = 90.0
"""Seconds that an idle connection is kept: tools run between two requests of a turn."""
_CONNECT: Final = 30.0
"""Seconds for a connection to be made, TLS included."""
_DRAIN: Final = 0.1
"""Seconds that a read response gets to end its body, so that its connection can be used again."""
_ZLIB: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings that are undone although nobody asked for them; proxies do such things."""
_ANY_HEADER: Final = 32 + zlib.MAX_WBITS
_CERTIFICATE: Final = "CODEX_CA_CERTIFICATE"


def load_http(*, newest: bool) -> Any:
    """Import httpx, or the newest of its line that is installed.

    Late, since importing takes 100 ms, and as `Any`, since one of the two may be missing; they
    have one interface.
    """
    found = find_spec("httpx2") if newest else None
    # A folder that happens to have the name has no origin.
    return import_module("httpx2" if found is not None and found.origin else "httpx")


@final
@attrs.define(eq=False)
class _Shard:
    client: httpx.AsyncClient
    streams: int = 0


@final
class HttpTransport(trio.abc.AsyncResource):
    """Sends requests and hands out their answers as they stream in.

    Certificates are the system's, or those of ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``; that in
    ``CODEX_CA_CERTIFICATE`` is trusted in addition. Proxies are those of ``HTTPS_PROXY``,
    ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``.

    Args:
        environment: Where ``CODEX_CA_CERTIFICATE`` is looked up; the rest is read from the
            environment of the process, by OpenSSL and by the HTTP library.
        idle_timeout: Seconds of silence after which a connection counts as broken.
        secure: Whether TLS will be spoken, to the server or to a proxy.
        inner: An httpx transport that answers instead of the network, for tests.

    Raises:
        BadProvider: if the certificates cannot be loaded.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        idle_timeout: float,
        secure: bool = True,
        inner: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http: Any = load_http(newest=inner is None)
        self._inner = inner
        self._idle_timeout = idle_timeout
        # Without TLS a context that trusts nobody will do, and is made at once.
        bare = inner is not None or not secure
        self._ssl = _trusting_nobody() if bare else self._make_ssl_context(environment)
        self._shards: list[_Shard] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; return once the answer's headers are here. The caller closes it.

        Raises:
            BadProvider: if the URL is none.
            ConnectionFailed: if no answer came.

        Cancellation:
            Closes the connection.
        """
        shard = self._shard()
        shard.streams += 1
        try:
            response = await self._send(shard.client, url, headers, body)
        except BaseException:
            shard.streams -= 1
            raise
        return Answer(response, self._http, shard)

    async def aclose(self) -> None:
        """Close all connections, those of running streams included."""
        shards, self._shards = self._shards, []
        for shard in shards:
            await shard.client.aclose()
        await trio.lowlevel.checkpoint()

    def statistics(self) -> tuple[int, ...]:
        """Return how many streams each client has open."""
        return tuple(shard.streams for shard in self._shards)

    async def _send(
        self, client: httpx.AsyncClient, url: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Response:
        try:
            request = client.build_request("POST", url, headers=dict(headers), content=body)
            return await client.send(request, stream=True)
        except (self._http.InvalidURL, self._http.UnsupportedProtocol) as error:
            raise BadProvider(f"no request can be sent to {url!r}: {_why(error)}") from error
        except self._http.TransportError as error:
            raise ConnectionFailed(f"no answer from {url!r}: {_why(error)}") from error

    def _shard(self) -> _Shard:
        for shard in self._shards:
            if shard.streams < STREAMS_PER_CLIENT:
                return shard
        self._shards.append(_Shard(self._make_client()))
        return self._shards[-1]

    def _make_client(self) -> httpx.AsyncClient:
        client: httpx.AsyncClient = self._http.AsyncClient(
            verify=self._ssl,
            transport=self._inner,
            timeout=self._http.Timeout(None, connect=_CONNECT, read=self._idle_timeout),
            limits=self._http.Limits(
                max_keepalive_connections=STREAMS_PER_CLIENT, keepalive_expiry=_KEEP_ALIVE
            ),
        )
        # Compression would hold events back until a block is full.
        del client.headers["accept-encoding"]
        return client

    def _make_ssl_context(self, environment: Mapping[str, str]) -> ssl.SSLContext:
        path = environment.get(_CERTIFICATE, "")
        try:
            context: ssl.SSLContext = self._http.create_ssl_context()
            if path:
                context.load_verify_locations(cafile=path)
        except OSError as error:
            named = f"{_CERTIFICATE}={path!r}" if path else "SSL_CERT_FILE or SSL_CERT_DIR"
            raise BadProvider(
                f"the certificates of {named} cannot be loaded: {error.strerror or error}"
            ) from error
        return context


@final
class Answer:
    """One answer whose body is still coming in."""

    def __init__(self, response: httpx.Response, http: Any, shard: _Shard) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self.url = str(response.request.url.copy_with(query=None))
        self._response = response
        self._http = http
        self._shard = shard
        self._open = True
        here = response.is_stream_consumed  # a mock may bring its whole body, unpacked
        self._pieces = response.aiter_bytes() if here else response.aiter_raw()
        packed = self.headers.get("content-encoding") in _ZLIB and not here
        self._unpacker = zlib.decompressobj(wbits=_ANY_HEADER) if packed else None

    async def receive_some(self) -> bytes | None:
        """Return the next piece of the body; None at its end.

        Raises:
            StreamDisconnected: if the connection broke.

        Cancellation:
            Closes the connection: the next call returns None.
        """
        try:
            piece = await anext(self._pieces)
            return piece if self._unpacker is None else self._unpacker.decompress(piece)
        except StopAsyncIteration:
            return None
        except self._http.ReadTimeout as error:
            raise StreamDisconnected(f"the stream from {self.url!r} fell silent") from error
        except (self._http.TransportError, zlib.error) as error:
            raise StreamDisconnected(
                f"the stream from {self.url!r} broke: {_why(error)}"
            ) from error

    async def read(self, limit: int) -> bytes:
        """Return at most about ``limit`` bytes of the body, or what came before it broke."""
        body = b""
        try:
            while len(body) < limit and (piece := await self.receive_some()) is not None:
                body += piece
        except StreamDisconnected:
            return body
        return body

    async def drain(self) -> None:
        """Wait a moment for the body to end, so that the connection can be used again."""
        with trio.move_on_after(_DRAIN):
            await self.read(64 * 1024)

    async def aclose(self) -> None:
        """Let go of the connection: kept when the body has ended, else closed at once."""
        if not self._open:
            return
        self._open = False
        self._shard.streams -= 1
        try:
            await self._response.aclose()
        finally:
            await self._unwind()

    async def _unwind(self) -> None:
        """Run the library's nested generators to their end; Trio warns of those left half-way.

        The connection is closed or given back, so there is nothing to wait for.
        """
        broken = self._http.TransportError, self._http.StreamError
        with trio.move_on_after(_DRAIN, shield=True), suppress(*broken):
            async for _ in self._pieces:
                await trio.lowlevel.checkpoint()


def _trusting_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _why(error: Exception) -> str:
    """Return one line about an error of the HTTP library, which may have no text at all."""
    return " ".join(str(error).split()) or type(error).__name__
