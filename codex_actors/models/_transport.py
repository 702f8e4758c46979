"""The HTTP door: one server, as the rest of the package asks it for things.

Lines are sharded, because the cost of a library's connection pool grows with the square of its
open connections: 4,000 streams open in 14 s on one httpx client and in 6 s on forty. All share
one SSL context, which costs 20 ms to make.
"""

from __future__ import annotations

import ssl
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import unquote, urlsplit

import attrs
import trio

from ._certificates import explain_refusal, make_ssl_context
from ._direct_line import CONNECT, KEEP_ALIVE, DirectLine, address_of
from ._errors import BadProvider, ConnectionFailed, StreamDisconnected
from ._library_line import LibraryLine, load_http
from ._line import Line, LineBroke, LineSilent, NoSuchLine, Reply
from ._proxies import find_proxy

if TYPE_CHECKING:
    import httpx

STREAMS_PER_CLIENT: Final = 100
"""Measured: below it a pool costs less than the request, above it more."""
_DRAIN: Final = 0.1
"""Seconds that a read response gets to end its body, so that its connection can be used again."""
_ZLIB: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings that are undone although nobody asked for them; proxies do such things."""
_ANY_HEADER: Final = 32 + zlib.MAX_WBITS


@final
@attrs.define(eq=False)
class _Shard:
    line: Line
    streams: int = 0


@final
class HttpTransport(trio.abc.AsyncResource):
    """Sends requests to one address and hands out their answers as they stream in.

    Args:
        url: Where requests are sent.
        environment: Where certificates are named (``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` instead
            of the system's, ``CODEX_CA_CERTIFICATE`` in addition) and proxies
            (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``).
        idle_timeout: Seconds of silence after which a connection counts as broken.
        inner: An httpx transport that answers instead of the network, for tests.

    Raises:
        BadProvider: if the certificates cannot be loaded, or the proxy is none.
    """

    def __init__(
        self,
        url: str,
        environment: Mapping[str, str],
        *,
        idle_timeout: float,
        inner: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._shown = without_secrets(url)
        self._authorization = _authorization_of(url)
        self._http: Any = load_http(newest=inner is None)
        self._inner = inner
        self._idle_timeout = idle_timeout
        self._named_proxy = None if inner is not None else find_proxy(url, environment)
        self._proxy = self._make_proxy()
        self._ssl = self._make_ssl_context(environment)
        self._shards: list[_Shard] = []

    async def get(self, headers: Mapping[str, str]) -> Answer:
        """Ask for what is at the address; otherwise as `post`."""
        return await self.post(headers, None)

    async def post(self, headers: Mapping[str, str], body: Sequence[bytes] | None) -> Answer:
        """Send a request; return once the answer's headers are here. The caller closes it.

        Args:
            headers: Names in lower case.
            body: In pieces.

        Raises:
            BadProvider: if the URL is none, or the server's certificate is refused.
            ConnectionFailed: if no answer came.

        Cancellation:
            Closes the connection.
        """
        shard = self._shard()
        shard.streams += 1
        try:
            reply = await self._send(shard.line, headers, body)
        except BaseException:
            shard.streams -= 1
            raise
        return Answer(reply, shard, self._shown)

    async def aclose(self) -> None:
        """Close all connections, those of running streams included."""
        shards, self._shards = self._shards, []
        # Each closes all that it has when it is cancelled, too; so all have to be asked.
        async with trio.open_nursery() as nursery:
            for shard in shards:
                nursery.start_soon(shard.line.aclose)

    def statistics(self) -> tuple[int, ...]:
        """Return how many streams each client has open."""
        return tuple(shard.streams for shard in self._shards)

    async def _send(
        self, line: Line, headers: Mapping[str, str], body: Sequence[bytes] | None
    ) -> Reply:
        seconds = self._idle_timeout
        try:
            with trio.move_on_after(seconds):
                return await line.send({**headers, **self._authorization}, body)
            raise ConnectionFailed(f"no answer from {self._shown!r} within {seconds:g} seconds")
        except NoSuchLine as error:
            raise self._no_address(error) from error
        except LineBroke as error:
            proxy = self._named_proxy
            way = f" through the proxy of {proxy.variable}" if proxy else ""
            message = f"no answer from {self._shown!r}{way}: {_why(error)}"
            # A certificate does not get better by trying again.
            kind = ConnectionFailed if _refusal_in(error) is None else BadProvider
            raise kind(message) from error

    def _no_address(self, error: Exception) -> BadProvider:
        return BadProvider(f"no request can be sent to {self._shown!r}: {_why(error)}")

    def _shard(self) -> _Shard:
        for shard in self._shards:
            if shard.streams < STREAMS_PER_CLIENT:
                return shard
        self._shards.append(_Shard(self._make_line()))
        return self._shards[-1]

    def _make_line(self) -> Line:
        http, url = self._http, self._url
        straight = self._inner is None and self._proxy is None
        if straight and urlsplit(url).scheme in {"http", "https"}:
            try:
                parsed = http.URL(url)
            except (http.InvalidURL, UnicodeError) as error:
                raise self._no_address(error) from error
            return DirectLine(address_of(parsed, self._ssl), idle_timeout=self._idle_timeout)
        transport = self._inner or self._make_transport()
        timeout = http.Timeout(None, connect=CONNECT, read=self._idle_timeout)
        return LibraryLine(http, transport, url, timeout)

    def _make_transport(self) -> httpx.AsyncBaseTransport:
        limits = self._http.Limits(
            max_keepalive_connections=STREAMS_PER_CLIENT, keepalive_expiry=KEEP_ALIVE
        )
        transport: httpx.AsyncBaseTransport = self._http.AsyncHTTPTransport(
            verify=self._ssl, limits=limits, proxy=self._proxy
        )
        return transport

    def _make_proxy(self) -> httpx.Proxy | None:
        named = self._named_proxy
        if named is None:
            return None
        try:
            proxy: httpx.Proxy = self._http.Proxy(named.address)
        except (ValueError, self._http.InvalidURL):
            # Without the cause, which quotes the address, and that may hold a password.
            raise BadProvider(
                f"the proxy of {named.variable} has no address that can be used;"
                " write one like 'http://proxy.example:3128'"
            ) from None
        if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
            raise BadProvider(
                f"the proxy of {named.variable} speaks SOCKS, and the package 'socksio' is not"
                " installed; install it, or name an HTTP proxy"
            )
        return proxy

    def _make_ssl_context(self, environment: Mapping[str, str]) -> ssl.SSLContext:
        secure_proxy = self._proxy is not None and self._proxy.url.scheme == "https"
        # Without TLS a context that trusts nobody will do, and is made at once.
        if self._inner is not None or not (secure_proxy or self._url.startswith("https:")):
            return _trusting_nobody()
        context = make_ssl_context(
            environment, partial(self._http.create_ssl_context, trust_env=False)
        )
        if self._proxy is not None and secure_proxy:
            self._proxy.ssl_context = context
        return context


@final
class Answer:
    """One answer whose body is still coming in."""

    def __init__(self, reply: Reply, shard: _Shard, url: str) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self.url = url
        """Without its query and its user, which may hold a key."""
        self._reply = reply
        self._shard = shard
        self._open = True
        packed = self.headers.get("content-encoding", "").lower() in _ZLIB and not reply.unpacked
        self._unpacker = zlib.decompressobj(wbits=_ANY_HEADER) if packed else None

    @property
    def ended(self) -> bool:
        """Whether all of the body is known to have come."""
        return self._reply.ended

    async def receive_some(self) -> bytes | None:
        """Return the next piece of the body; None at its end.

        Raises:
            StreamDisconnected: if the connection broke.

        Cancellation:
            Closes the connection: the next call returns None.
        """
        try:
            piece = await self._reply.receive_some()
            if piece is None or self._unpacker is None:
                return piece
            return self._unpacker.decompress(piece)
        except LineSilent as error:
            raise StreamDisconnected(f"the stream from {self.url!r} fell silent") from error
        except (LineBroke, zlib.error) as error:
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
        await self._reply.aclose()


def without_secrets(url: str) -> str:
    """Return an address as messages may show it: without user, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def _authorization_of(url: str) -> dict[str, str]:
    """Return the header that a user and a password in an address stand for."""
    user, _, password = urlsplit(url).netloc.rpartition("@")[0].partition(":")
    if not (user or password):
        return {}
    named = f"{unquote(user)}:{unquote(password)}".encode()
    return {"authorization": f"Basic {b64encode(named).decode()}"}


def _trusting_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _why(error: BaseException) -> str:
    """Return one line about what broke a line; libraries' errors may have no text at all."""
    if isinstance(error, LineBroke | NoSuchLine) and error.__cause__ is not None:
        error = error.__cause__
    refusal = _refusal_in(error)
    if refusal is not None:
        return explain_refusal(refusal)
    texts = (" ".join(str(cause).split()) for cause in _causes(error))
    return next(filter(None, texts), type(error).__name__)


def _refusal_in(error: BaseException) -> ssl.SSLCertVerificationError | None:
    kind = ssl.SSLCertVerificationError
    return next((cause for cause in _causes(error) if isinstance(cause, kind)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # The pool takes causes away; what was being handled is the same exception.
        error = error.__cause__ or error.__context__
