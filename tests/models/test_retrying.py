from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from codex_actors.core._retry import Retry
from codex_actors.models import (
    ConnectionFailed,
    InvalidRequest,
    ModelClient,
    ModelError,
    Prompt,
    RateLimited,
    RetryingClient,
    Script,
    ScriptedModel,
    ServerFailed,
    ServerOverloaded,
    StreamDisconnected,
    UnexpectedStatus,
    script_of,
)
from codex_actors.protocol import ModelEvent, ResponseCompleted
from codex_actors.testing import BreakAfter, FaultyClient, HangAfter, check_model_client

PROMPT = Prompt(model="m", input=())
SCRIPT = script_of([{"say": "hi"}])


def retrying(inner: ModelClient, retries: int = 4) -> RetryingClient:
    return RetryingClient(inner, Retry(retries), jitter=lambda: 1.0)


async def collect(client: ModelClient) -> list[ModelEvent]:
    async with client.stream(PROMPT) as channel:
        return [event async for event in channel]


@asynccontextmanager
async def make_client(script: Script) -> AsyncIterator[ModelClient]:
    yield retrying(ScriptedModel(script))


async def test_it_keeps_the_contract() -> None:
    await check_model_client(make_client)


@asynccontextmanager
async def make_faultless(script: Script) -> AsyncIterator[ModelClient]:
    yield FaultyClient(ScriptedModel(script))


async def test_a_faulty_client_without_faults_keeps_the_contract() -> None:
    await check_model_client(make_faultless)


async def test_requests_are_sent_again(autojump_clock: trio.testing.MockClock) -> None:
    faulty = FaultyClient(
        ScriptedModel(SCRIPT),
        ConnectionFailed("no"),
        ServerFailed("no", status=500),
        UnexpectedStatus("no", status=502),
        ServerOverloaded("no", status=503),
    )
    events = await collect(retrying(faulty))

    assert isinstance(events[-1], ResponseCompleted)
    assert faulty.prompts == [PROMPT] * 5
    assert trio.current_time() == pytest.approx(0.2 + 0.4 + 0.8 + 1.6)


async def test_patience_ends(autojump_clock: trio.testing.MockClock) -> None:
    last = ServerFailed("the last", status=500)
    faulty = FaultyClient(ScriptedModel(SCRIPT), *[ConnectionFailed("no")] * 2, last)

    with pytest.raises(ServerFailed) as caught:
        await collect(retrying(faulty, retries=2))

    assert caught.value is last
    assert len(faulty.prompts) == 3


async def test_the_server_says_how_long(autojump_clock: trio.testing.MockClock) -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), ServerFailed("no", status=500, retry_after=30))
    await collect(retrying(faulty))

    assert trio.current_time() == pytest.approx(30)


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest("no", status=400),
        UnexpectedStatus("no", status=404),
        RateLimited("no", status=429, retry_after=1),
        StreamDisconnected("no"),
    ],
)
async def test_what_is_not_sent_again(error: ModelError) -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), error)

    with pytest.raises(type(error)):
        await collect(retrying(faulty))

    assert len(faulty.prompts) == 1


async def test_a_stream_that_began_is_never_repeated() -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), BreakAfter(2, ConnectionFailed("late")))

    with pytest.raises(ConnectionFailed):
        await collect(retrying(faulty))

    assert len(faulty.prompts) == 1


async def test_a_wait_can_be_cancelled(autojump_clock: trio.testing.MockClock) -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), ServerFailed("no", status=500, retry_after=600))

    with trio.move_on_after(5) as scope:
        await collect(retrying(faulty))

    assert scope.cancelled_caught
    assert len(faulty.prompts) == 1


async def test_a_hanging_stream_can_be_left(autojump_clock: trio.testing.MockClock) -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), HangAfter(1))

    with trio.move_on_after(5) as scope:
        await collect(retrying(faulty))

    assert scope.cancelled_caught


async def test_jitter_keeps_clients_apart(autojump_clock: trio.testing.MockClock) -> None:
    faulty = FaultyClient(ScriptedModel(SCRIPT), ConnectionFailed("no"))
    await collect(RetryingClient(faulty, Retry(1)))

    assert 0.18 <= trio.current_time() <= 0.22
