"""Local servers, over real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.models import LocalServer, choose_model, find_local_servers
from codex_actors.models._local import PATIENCE, read_models
from codex_actors.protocol import Provider


@asynccontextmanager
async def serve(answer: bytes | None) -> AsyncGenerator[str, None]:
    """A server that gives one answer to all; None: it says nothing."""

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            if answer is None:
                await trio.sleep_forever()
            else:
                await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, handle, 0)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        nursery.cancel_scope.cancel()


def answer(body: str, status: str = "200 OK") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
    ).encode()


def models(*slugs: str) -> str:
    return json.dumps({"object": "list", "data": [{"id": slug} for slug in slugs]})


async def find(*urls: str) -> Sequence[LocalServer]:
    providers = [Provider(id=str(number), base_url=url) for number, url in enumerate(urls)]
    with trio.fail_after(30):
        return await find_local_servers(providers, environment={})


async def test_servers_are_asked_for_their_models_in_order() -> None:
    async with serve(answer(models("a", "b"))) as one, serve(answer(models())) as other:
        servers = await find(one, other)

    assert [("a", "b"), ()] == [server.models for server in servers]
    assert ["0", "1"] == [server.provider.id for server in servers]
    assert [None, None] == [server.problem for server in servers]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (answer("{}", "404 Not Found"), "answered with status 404, no list of models"),
        (answer("<html>"), "answered, but with no list of models"),
        (answer('{"data": 3}'), "answered, but with no list of models"),
    ],
)
async def test_what_is_no_model_server(reply: bytes, problem: str) -> None:
    async with serve(reply) as url:
        (server,) = await find(url)

    assert ((), problem) == (server.models, server.problem)


async def test_nobody_listens() -> None:
    (server,) = await find("http://127.0.0.1:1/v1")

    assert server.problem is not None
    assert server.problem.startswith("no answer from 'http://127.0.0.1:1/v1/models'")


async def test_an_address_that_is_none() -> None:
    (server,) = await find("http://127.0.0.1:port/v1")

    assert server.problem is not None


async def test_silent_servers_are_waited_for_together_and_not_long() -> None:
    began = trio.current_time()
    async with serve(None) as one, serve(None) as other:
        servers = await find(one, other)

    assert {server.problem for server in servers} == {"no answer within 2 seconds"}
    assert PATIENCE <= trio.current_time() - began < 2 * PATIENCE


@given(st.binary(max_size=30))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    assert read_models(body) in (None, ())


slugs = st.sampled_from(["a", "b", "nomic-embed-text", "Text-Embedding"])


@given(st.lists(slugs), st.none() | slugs)
def test_the_model_is_there_and_can_talk(models: list[str], preferred: str | None) -> None:
    found = choose_model(models, preferred)

    if preferred in models:
        assert found == preferred
    elif found is None:
        assert not {"a", "b"} & set(models)
    else:
        assert found in {"a", "b"} & set(models)
