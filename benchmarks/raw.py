"""The floor: the same requests, sent by httpx on Trio by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, final

import attrs
import httpx
import msgspec

_LENGTH: Final = 16
_HEADERS: Final = {"accept": "text/event-stream", "content-type": "application/json"}


class _Input(msgspec.Struct):
    input: list[msgspec.Raw]


@final
@attrs.frozen
class Pieces:
    """A request taken apart: what was joined to make it."""

    before: bytes
    items: Sequence[bytes]
    after: bytes

    @classmethod
    def of(cls, body: bytes) -> Pieces:
        items = [bytes(item) for item in msgspec.json.decode(body, type=_Input).input]
        joined = b",".join(items)
        before, after = body.split(joined)
        return cls(before, items, after)

    def join(self) -> bytes:
        return b"".join([self.before, b",".join(self.items), self.after])


@final
@attrs.frozen
class Raw:
    """One httpx client, and what it can be measured doing."""

    client: httpx.AsyncClient
    base_url: str

    async def send(self, path: str, body: bytes) -> float:
        """Post a request and read its stream to the end; return the seconds it took."""
        began = time.perf_counter()
        async with self.client.stream(
            "POST", f"{self.base_url}/{path}/v1/responses", headers=_HEADERS, content=body
        ) as response:
            async for _ in response.aiter_raw():
                pass
        return time.perf_counter() - began

    async def bodies(self) -> list[bytes]:
        """Fetch the requests that the server was sent since it was last asked."""
        data = (await self.client.get(f"{self.base_url}/bodies")).content
        bodies, at = [], 0
        while at < len(data):
            size = int(data[at : at + _LENGTH])
            bodies.append(data[at + _LENGTH : at + _LENGTH + size])
            at += _LENGTH + size
        return bodies


@asynccontextmanager
async def open_raw(base_url: str) -> AsyncGenerator[Raw, None]:
    """Open the client; it keeps one connection, as the engine does."""
    async with httpx.AsyncClient(timeout=60) as client:
        yield Raw(client, base_url)
