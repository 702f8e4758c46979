"""HTTP by httpx: the only module that knows that library, whichever of its line is installed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from ._line import LineBroke, LineSilent, NoSuchLine, join_headers

if TYPE_CHECKING:
    import httpx

_UNWIND: Final = 0.1
"""Seconds for the library's generators to end."""


def load_http(*, newest: bool) -> Any:
    """Import httpx, or the newest of its line that is installed.

    Late, since importing takes 100 ms, and as `Any`, since one of the two may be missing; they
    have one interface.
    """
    found = find_spec("httpx2") if newest else None
    # A folder that happens to have the name has no origin.
    return import_module("httpx2" if found is not None and found.origin else "httpx")


@final
class LibraryLine:
    """A `Line` by a transport of the library: what an `httpx.AsyncClient` sends with.

    The client itself looks for redirects and cookies, which are for browsers, and that costs
    as much as sending.

    Args:
        http: The library.
        transport: Its transport.
        url: Where requests are sent.
        timeout: As the library has it.
    """

    def __init__(
        self, http: Any, transport: httpx.AsyncBaseTransport, url: str, timeout: httpx.Timeout
    ) -> None:
        self._http = http
        self._transport = transport
        self._url = url
        self._parsed: httpx.URL | None = None
        self._extensions = {"timeout": timeout.as_dict()}

    async def send(self, headers: Mapping[str, str], body: Sequence[bytes] | None) -> LibraryReply:
        """See `Line.send`."""
        try:
            response = await self._transport.handle_async_request(self._request(headers, body))
        except (self._http.InvalidURL, self._http.UnsupportedProtocol) as error:
            raise NoSuchLine from error
        except self._http.TransportError as error:
            raise LineBroke from error
        return LibraryReply(response, self._http)

    async def aclose(self) -> None:
        """See `Line.aclose`."""
        await self._transport.aclose()

    def _request(self, headers: Mapping[str, str], body: Sequence[bytes] | None) -> httpx.Request:
        if self._parsed is None:
            self._parsed = self._http.URL(self._url)
        content: bytes | _Pieces | None = None
        if body is not None:
            headers = {**headers, "content-length": str(sum(map(len, body)))}
            content = body[0] if len(body) == 1 else _Pieces(body)
        request: httpx.Request = self._http.Request(
            "POST" if body is not None else "GET",
            self._parsed,
            headers={"connection": "keep-alive", **headers},
            content=content,
            extensions=dict(self._extensions),
        )
        return request


@final
class LibraryReply:
    """A `Reply` to a `LibraryLine`."""

    def __init__(self, response: httpx.Response, http: Any) -> None:
        self.status = response.status_code
        self.headers = _headers(response.headers)
        self.unpacked = response.is_stream_consumed  # a mock may bring its whole body, unpacked
        self._response = response
        self._http = http
        self._open = True
        self.ended = False
        self._pieces = response.aiter_bytes() if self.unpacked else response.aiter_raw()

    async def receive_some(self) -> bytes | None:
        """See `Reply.receive_some`."""
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self.ended = True
            return None
        except self._http.ReadTimeout as error:
            raise LineSilent from error
        except self._http.TransportError as error:
            raise LineBroke from error

    async def aclose(self) -> None:
        """See `Reply.aclose`."""
        if not self._open:
            return
        self._open = False
        try:
            await self._response.aclose()
        finally:
            if not self.ended:
                await self._unwind()

    async def _unwind(self) -> None:
        """Run the library's nested generators to their end; Trio warns of those left half-way.

        The connection is closed or given back, so there is nothing to wait for.
        """
        broken = self._http.TransportError, self._http.StreamError
        with trio.move_on_after(_UNWIND, shield=True), suppress(*broken):
            async for _ in self._pieces:
                await trio.lowlevel.checkpoint()


@final
@attrs.frozen
class _Pieces:
    pieces: Sequence[bytes]

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        for piece in self.pieces:
            yield piece


def _headers(headers: httpx.Headers) -> dict[str, str]:
    encoding = headers.encoding
    return join_headers(
        (name.decode(encoding), value.decode(encoding)) for name, value in headers.raw
    )
