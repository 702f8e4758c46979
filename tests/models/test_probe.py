"""Whether a provider is reached, over real sockets."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio

from codex_actors.models._probe import Probe, classify, judge_answer, probe_provider
from codex_actors.protocol import Provider


@asynccontextmanager
async def serve(answer: bytes, requests: list[bytes]) -> AsyncGenerator[str, None]:
    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive_some()
            requests.append(head)
            await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, handle, 0)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        nursery.cancel_scope.cancel()


def answer(status: str, body: str = "{}") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
    ).encode()


async def probe(base_url: str, key: str | None = "sk-secret") -> Probe:
    provider = Provider(
        id="mine", base_url=base_url, bearer_token=key, query_params={"api-version": "1"}
    )
    with trio.fail_after(30):
        return await probe_provider(provider, environment={})


@pytest.mark.parametrize(
    ("status", "reach"),
    [
        ("200 OK", "accepted"),
        ("401 Unauthorized", "rejected"),
        ("403 Forbidden", "rejected"),
        ("404 Not Found", "no_list"),
        ("302 Found", "failed"),
        ("503 Service Unavailable", "failed"),
    ],
)
async def test_answers(status: str, reach: str) -> None:
    requests: list[bytes] = []
    async with serve(answer(status), requests) as base_url:
        found = await probe(base_url)

    assert (reach, f"{base_url}/models") == (found.reach, found.url)
    assert "sk-secret" not in repr(found)
    [request] = requests
    head = request.decode().lower()
    assert head.startswith("get /v1/models?api-version=1 http/1.1\r\n")
    assert "authorization: bearer sk-secret\r\n" in head


async def test_without_a_key_none_is_sent() -> None:
    requests: list[bytes] = []
    async with serve(answer("200 OK"), requests) as base_url:
        await probe(base_url, key=None)

    assert b"authorization" not in requests[0].lower()


async def test_a_password_in_the_address_is_sent_and_not_shown() -> None:
    requests: list[bytes] = []
    async with serve(answer("401 Unauthorized"), requests) as base_url:
        found = await probe(base_url.replace("//", "//me:pass-word@"), key=None)

    assert b"authorization: basic " in requests[0].lower()
    assert "pass-word" not in repr(found)
    assert f"{base_url}/models" == found.url


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = await probe(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")

    assert "refused" == found.reach


async def test_no_tls_is_spoken() -> None:
    async with trio.open_nursery() as nursery:

        async def talk_plainly(stream: trio.SocketStream) -> None:
            async with stream:
                await stream.receive_some()
                await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        listeners = await nursery.start(trio.serve_tcp, talk_plainly, 0)
        found = await probe(f"https://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1")
        nursery.cancel_scope.cancel()

    assert "tls" == found.reach


async def test_an_address_that_is_none() -> None:
    assert "unusable" == (await probe("ftp://127.0.0.1/v1")).reach


def test_causes_are_found_wherever_they_are() -> None:
    inner = OSError("all attempts failed")
    inner.__cause__ = ExceptionGroup("x", [ConnectionRefusedError()])

    assert "refused" == classify(inner)
    assert "no_name" == classify(ExceptionGroup("x", [socket.gaierror(-2, "unknown")]))
    assert "tls" == classify(ExceptionGroup("x", [ValueError(), ssl.SSLError()]))
    assert "unusable" == classify(ValueError())


def test_causes_in_a_circle_are_no_trap() -> None:
    one, two = ValueError(), ValueError()
    one.__cause__, two.__cause__ = two, one

    assert "unusable" == classify(one)


def test_every_status_is_judged() -> None:
    reaches = {judge_answer(status, "")[0] for status in range(100, 600)}

    assert {"accepted", "rejected", "no_list", "failed"} == reaches
