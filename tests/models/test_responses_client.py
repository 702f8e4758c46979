from __future__ import annotations

import gzip
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
import trio
import trio.testing

from codex_actors.models import (
    BadProvider,
    ConnectionFailed,
    ContextWindowExceeded,
    InvalidRequest,
    MissingKey,
    ModelClient,
    ModelError,
    ModelProtocolError,
    PolicyViolation,
    Prompt,
    RateLimited,
    RecordedRequest,
    ResponsesClient,
    Script,
    ScriptedServer,
    ServerFailed,
    ServerOverloaded,
    StreamDisconnected,
    Unauthorized,
    UnexpectedStatus,
    UsageLimitReached,
    script_of,
    serve_scripted,
)
from codex_actors.protocol import (
    ItemDone,
    ModelEvent,
    Provider,
    RateLimits,
    RateLimitsSeen,
    RateLimitWindow,
    ResponseCompleted,
    ResponseCreated,
    ServerModelSeen,
    TextDelta,
)
from codex_actors.testing import check_model_client, sse, sse_transport

PROMPT = Prompt(model="m", input=())
PROVIDER = Provider(id="test", base_url="http://model.test/v1")
DONE = sse("response.completed", response={"id": "r"})
NO_LIMITS = RateLimitsSeen(RateLimits(limit_id="codex"))


def delta(text: str) -> bytes:
    return sse("response.output_text.delta", delta=text)


def client_of(*pieces: bytes, **kwargs: Any) -> ResponsesClient:
    return ResponsesClient(PROVIDER, transport=sse_transport(*pieces, **kwargs), environment={})


async def collect(client: ModelClient, prompt: Prompt = PROMPT) -> list[ModelEvent]:
    async with client.stream(prompt) as channel:
        return [event async for event in channel]


async def failure(client: ModelClient, events: list[ModelEvent] | None = None) -> ModelError:
    try:
        async with client.stream(PROMPT) as channel:
            async for event in channel:
                if events is not None:
                    events.append(event)
    except ModelError as error:
        return error
    raise AssertionError("the stream ended well")


@asynccontextmanager
async def served(
    script: Script, record: trio.MemorySendChannel[RecordedRequest] | None = None
) -> AsyncIterator[ScriptedServer]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_scripted, script, record=record))
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def client_and_server(script: Script) -> AsyncIterator[ModelClient]:
    async with served(script) as server:
        provider = Provider(id="test", base_url=server.base_url)
        async with ResponsesClient(provider, environment={}) as client:
            yield client


async def test_it_keeps_the_contract() -> None:
    await check_model_client(client_and_server)


class TestStreams:
    async def test_a_response(self) -> None:
        client = client_of(
            sse("response.created", response={"id": "r"}), delta("a"), delta("b"), DONE
        )

        assert await collect(client) == [
            NO_LIMITS,
            ResponseCreated("r"),
            TextDelta("a"),
            TextDelta("b"),
            ResponseCompleted("r"),
        ]

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
    async def test_how_bytes_are_cut_does_not_matter(self, size: int) -> None:
        body = delta("a\u2028b") + b": ping\n\n" + delta("\U0001f600") + DONE
        pieces = [body[at : at + size] for at in range(0, len(body), size)]

        assert await collect(client_of(*pieces)) == [
            NO_LIMITS,
            TextDelta("a\u2028b"),
            TextDelta("\U0001f600"),
            ResponseCompleted("r"),
        ]

    async def test_carriage_returns_and_unnamed_events(self) -> None:
        data = b'data: {"type":"response.output_text.delta","delta":"a"}\r\n\r\n'

        assert await collect(client_of(data, DONE)) == [
            NO_LIMITS,
            TextDelta("a"),
            ResponseCompleted("r"),
        ]

    async def test_what_is_not_known_or_broken_is_skipped(self) -> None:
        client = client_of(
            sse("response.invented", n=1),
            b"event: response.output_text.delta\ndata: {broken\n\n",
            b"event: response.output_text.delta\ndata: [DONE]\n\n",
            b"\xff\xfe\n\n",
            b"retry: 5\n\n",
            delta("a"),
            DONE,
        )

        assert await collect(client) == [NO_LIMITS, TextDelta("a"), ResponseCompleted("r")]

    async def test_a_compressed_body(self) -> None:
        packed = gzip.compress(delta("a") + DONE)
        client = client_of(packed[:20], packed[20:], headers={"content-encoding": "GZip"})

        assert await collect(client) == [NO_LIMITS, TextDelta("a"), ResponseCompleted("r")]

    async def test_a_broken_compression(self) -> None:
        error = await failure(client_of(b"nonsense", headers={"content-encoding": "gzip"}))

        assert isinstance(error, StreamDisconnected)

    async def test_a_huge_item(self) -> None:
        text = "x" * 5_000_000
        part = {"type": "output_text", "text": text}
        item = {"type": "message", "role": "assistant", "content": [part]}
        body = sse("response.output_item.done", item=item) + DONE
        pieces = [body[at : at + 65536] for at in range(0, len(body), 65536)]
        _, done, _ = await collect(client_of(*pieces))

        assert isinstance(done, ItemDone)
        assert done.encoded is not None
        assert len(done.encoded) > len(text)

    async def test_an_endless_event(self) -> None:
        piece = b"x" * (8 * 1024 * 1024)
        error = await failure(client_of(b"data: ", *[piece] * 9))

        assert isinstance(error, ModelProtocolError)
        assert "exceeds the limit" in str(error)

    async def test_headers_come_first(self) -> None:
        headers = {
            "OpenAI-Model": "m-2",
            "x-codex-primary-used-percent": "12.5",
            "x-codex-primary-window-minutes": "300",
            "x-codex-primary-reset-at": "1700000000",
            "x-codex-secondary-used-percent": "0",
            "x-other-primary-used-percent": "nan",
        }
        first = sse("response.created", response={"id": "r", "headers": {"openai-model": "m-2"}})
        window = RateLimitWindow(used_percent=12.5, window_minutes=300, resets_at=1700000000)

        assert await collect(client_of(first, DONE, headers=headers)) == [
            ServerModelSeen("m-2"),
            RateLimitsSeen(RateLimits(limit_id="codex", primary=window)),
            RateLimitsSeen(RateLimits(limit_id="other")),
            ResponseCreated("r"),
            ResponseCompleted("r"),
        ]

    async def test_a_long_run_lets_others_run(self) -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                await trio.lowlevel.checkpoint()
                turns += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await collect(client_of(delta("a") * 10_000 + DONE))
            nursery.cancel_scope.cancel()

        assert turns > 100

    async def test_one_receiver_at_a_time(self) -> None:
        client = client_of(delta("a"), ending="hang")
        async with client.stream(PROMPT) as channel, trio.open_nursery() as nursery:
            await channel.receive()
            await channel.receive()
            nursery.start_soon(channel.receive)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(trio.BusyResourceError):
                await channel.receive()
            nursery.cancel_scope.cancel()


class TestBrokenStreams:
    async def test_the_end_before_the_end(self) -> None:
        events: list[ModelEvent] = []
        error = await failure(client_of(delta("a"), delta("b")[:20]), events)

        assert isinstance(error, StreamDisconnected)
        assert error.retryable
        assert error.kind == "other"
        assert events == [NO_LIMITS, TextDelta("a")]

    async def test_a_reset_connection(self) -> None:
        error = await failure(client_of(delta("a"), ending="break"))

        assert isinstance(error, StreamDisconnected)
        assert "connection reset" in str(error)

    async def test_an_error_lasts(self) -> None:
        async with client_of(ending="break").stream(PROMPT) as channel:
            await channel.receive()
            for _ in range(2):
                with pytest.raises(StreamDisconnected):
                    await channel.receive()

    async def test_silence_of_a_mock(self, autojump_clock: trio.testing.MockClock) -> None:
        error = await failure(client_of(delta("a"), ending="hang"))

        assert isinstance(error, StreamDisconnected)
        assert "silent" in str(error)
        assert trio.current_time() >= 300

    async def test_nothing_but_keep_alives(self, autojump_clock: trio.testing.MockClock) -> None:
        async def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=KeepAlives())

        class KeepAlives(httpx.AsyncByteStream):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                while True:
                    await trio.sleep(15)
                    yield b": ping\n\n"

        client = ResponsesClient(PROVIDER, transport=httpx.MockTransport(answer), environment={})
        error = await failure(client)

        assert isinstance(error, StreamDisconnected)
        assert "no event for 300 seconds" in str(error)
        assert 300 <= trio.current_time() <= 330

    async def test_a_server_that_never_answers(
        self, autojump_clock: trio.testing.MockClock
    ) -> None:
        async def answer(request: httpx.Request) -> httpx.Response:
            await trio.sleep_forever()
            raise AssertionError

        client = ResponsesClient(PROVIDER, transport=httpx.MockTransport(answer), environment={})
        error = await failure(client)

        assert isinstance(error, ConnectionFailed)
        assert trio.current_time() == pytest.approx(300, abs=1)

    @pytest.mark.parametrize("ending", ["close", "break"])
    async def test_a_failed_response(self, ending: str) -> None:
        error = {"code": "context_length_exceeded", "message": "too long"}
        failed = sse("response.failed", response={"error": error})
        caught = await failure(client_of(failed, ending=ending, headers={"x-request-id": "req_1"}))

        assert isinstance(caught, ContextWindowExceeded)
        assert str(caught) == "too long, request id: req_1"
        assert caught.request_id == "req_1"
        assert not caught.retryable

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            ("insufficient_quota", UsageLimitReached),
            ("slow_down", ServerOverloaded),
            ("cyber_policy", PolicyViolation),
            ("invalid_prompt", InvalidRequest),
            ("server_error", StreamDisconnected),
        ],
    )
    async def test_failures(self, code: str, kind: type[ModelError]) -> None:
        failed = sse("response.failed", response={"error": {"code": code, "message": "said"}})

        assert type(await failure(client_of(failed))) is kind

    async def test_a_rate_limit_says_when_to_come_back(self) -> None:
        error = {"code": "rate_limit_exceeded", "message": "try again in 250ms"}
        caught = await failure(client_of(sse("response.failed", response={"error": error})))

        assert isinstance(caught, RateLimited)
        assert (caught.retryable, caught.retry_after, caught.kind) == (True, 0.25, "other")

    async def test_an_incomplete_response(self) -> None:
        details = {"reason": "content_filter"}
        error = await failure(
            client_of(sse("response.incomplete", response={"incomplete_details": details}))
        )

        assert isinstance(error, StreamDisconnected)
        assert "content_filter" in str(error)

    async def test_an_unreadable_completion(self) -> None:
        error = await failure(client_of(b"event: response.completed\ndata: {\n\n"))

        assert isinstance(error, StreamDisconnected)

    async def test_a_page_instead_of_a_stream(self) -> None:
        page = b"<!DOCTYPE html><html><title>Log in\n first</title></html>"
        error = await failure(client_of(page, headers={"content-type": "text/html; charset=x"}))

        assert isinstance(error, ModelProtocolError)
        assert "an HTML page titled 'Log in first'" in str(error)

    async def test_a_cancelled_receive_ends_the_stream(self) -> None:
        async with client_of(delta("a"), ending="hang").stream(PROMPT) as channel:
            await channel.receive()
            await channel.receive()
            with trio.move_on_after(0):
                await channel.receive()
            with pytest.raises(StreamDisconnected):
                await channel.receive()


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "body", "kind", "word", "retryable"),
        [
            (400, b'{"error":{"message":"bad"}}', InvalidRequest, "other", False),
            (
                400,
                b'{"error":{"code":"context_length_exceeded"}}',
                ContextWindowExceeded,
                "context_window_exceeded",
                False,
            ),
            (400, b'{"error":{"code":"cyber_policy"}}', PolicyViolation, "cyber_policy", False),
            (
                403,
                b'{"error":{"code":"misalignment_policy_violation"}}',
                PolicyViolation,
                "misalignment_policy_violation",
                False,
            ),
            (401, b"", Unauthorized, "unauthorized", False),
            (403, b"no", UnexpectedStatus, "other", True),
            (404, b"[]", UnexpectedStatus, "other", True),
            (302, b"", UnexpectedStatus, "other", True),
            (429, b"", RateLimited, "response_too_many_failed_attempts", False),
            (
                429,
                b'{"error":{"type":"usage_limit_reached"}}',
                UsageLimitReached,
                "usage_limit_exceeded",
                False,
            ),
            (500, b"\xff", ServerFailed, "internal_server_error", True),
            (502, b"<html>", UnexpectedStatus, "other", True),
            (503, b'{"error":{"code":"slow_down"}}', ServerOverloaded, "server_overloaded", False),
            (503, b'{"error":"soon"}', UnexpectedStatus, "other", True),
        ],
    )
    async def test_statuses(
        self, status: int, body: bytes, kind: type[ModelError], word: str, retryable: bool
    ) -> None:
        error = await failure(client_of(body, status=status))

        assert type(error) is kind
        assert (error.kind, error.retryable, error.status) == (word, retryable, status)

    async def test_the_message_has_the_facts(self) -> None:
        headers = {"cf-ray": "ray", "x-oai-request-id": "req"}
        error = await failure(
            client_of(b'{"error":{"message":"no\\n such model"}}', status=404, headers=headers)
        )

        assert str(error) == (
            "unexpected status 404: no such model, url: http://model.test/v1/responses,"
            " cf-ray: ray, request id: req"
        )
        assert error.request_id == "req"

    async def test_a_long_body_is_cut(self) -> None:
        error = await failure(client_of(b"x" * 5000, status=418))

        assert str(error).count("x") == 1 + 1000  # "unexpected" has one
        assert "x..., url: " in str(error)

    async def test_a_page_is_its_title(self) -> None:
        page = b"<html><head><title>Attention Required!</title></head>" + b"x" * 5000
        error = await failure(client_of(page, status=403))

        assert "unexpected status 403: an HTML page titled 'Attention Required!', url" in str(error)

    async def test_a_body_that_breaks_off(self) -> None:
        error = await failure(client_of(b"half", status=500, ending="break"))

        assert "unexpected status 500: half" in str(error)

    async def test_a_body_that_never_ends(self, autojump_clock: trio.testing.MockClock) -> None:
        error = await failure(client_of(b"half", status=500, ending="hang"))

        assert isinstance(error, ServerFailed)
        assert trio.current_time() < 60

    @pytest.mark.parametrize(
        ("headers", "body", "seconds"),
        [
            ({"retry-after": "7"}, b"", 7.0),
            ({"retry-after-ms": "1500", "retry-after": "7"}, b"", 1.5),
            ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, b"", None),
            ({"retry-after": "inf"}, b"", None),
            ({}, b'{"error":{"message":"Please try again in 20s"}}', 20.0),
            ({}, b'{"error":{"resets_at":1%s}}' % (b"0" * 400), None),
            ({}, b"", None),
        ],
        ids=range(7),
    )
    async def test_hints(self, headers: dict[str, str], body: bytes, seconds: float | None) -> None:
        error = await failure(client_of(body, status=429, headers=headers))

        assert error.retry_after == seconds


class TestKeys:
    @pytest.fixture
    def seen(self) -> list[httpx.Request]:
        return []

    def client(
        self, seen: list[httpx.Request], environment: dict[str, str], **provider: Any
    ) -> ResponsesClient:
        def answer(request: httpx.Request) -> httpx.Response:
            seen.append(request)
            return httpx.Response(200, content=DONE)

        return ResponsesClient(
            Provider(id="test", base_url="http://model.test/v1/", **provider),
            environment=environment,
            transport=httpx.MockTransport(answer),
        )

    async def test_headers(self, seen: list[httpx.Request]) -> None:
        client = self.client(
            seen,
            {"KEY": " k\n", "ORG": "o", "BLANK": " "},
            env_key="KEY",
            query_params={"api-version": "1 2"},
            http_headers={"X-One": "1"},
            env_http_headers={"X-Org": "ORG", "X-Blank": "BLANK", "X-Missing": "MISSING"},
        )
        prompt = Prompt(
            model="m",
            input=(),
            session_id="s",
            thread_id="t",
            originator="me",
            headers=(("x-codex-window-id", "t:0"),),
        )
        await collect(client, prompt)
        (request,) = seen
        headers = dict(request.headers)

        assert headers.pop("user-agent").startswith("me/")
        assert headers == {
            "accept": "text/event-stream",
            "authorization": "Bearer k",
            "connection": "keep-alive",
            "content-length": headers["content-length"],
            "content-type": "application/json",
            "host": "model.test",
            "originator": "me",
            "session-id": "s",
            "thread-id": "t",
            "x-client-request-id": "t",
            "x-codex-window-id": "t:0",
            "x-one": "1",
            "x-org": "o",
        }
        assert str(request.url) == "http://model.test/v1/responses?api-version=1+2"

    async def test_a_missing_key(self, seen: list[httpx.Request]) -> None:
        client = self.client(
            seen, {"KEY": " "}, env_key="KEY", env_key_instructions="Get one at example.test."
        )
        error = await failure(client)

        assert isinstance(error, MissingKey)
        assert "'KEY'" in str(error)
        assert str(error).endswith("Get one at example.test")
        assert seen == []

    async def test_a_provider_that_asks_for_openai_keys(self, seen: list[httpx.Request]) -> None:
        await collect(self.client(seen, {"OPENAI_API_KEY": "k"}, requires_openai_auth=True))

        assert seen[0].headers["authorization"] == "Bearer k"

    async def test_no_key_wanted(self, seen: list[httpx.Request]) -> None:
        await collect(self.client(seen, {}))

        assert "authorization" not in seen[0].headers

    async def test_a_key_that_cannot_be_sent_is_not_shown(self, seen: list[httpx.Request]) -> None:
        client = self.client(seen, {}, bearer_token="s3cret\nx")
        error = await failure(client)

        assert isinstance(error, BadProvider)
        assert "s3cret" not in str(error)
        assert "s3cret" not in repr(client)

    async def test_a_header_name_that_is_none(self, seen: list[httpx.Request]) -> None:
        error = await failure(self.client(seen, {}, http_headers={"my header": "x"}))

        assert isinstance(error, BadProvider)
        assert "'my header'" in str(error)

    @pytest.mark.parametrize("url", ["", "model.test", "ftp://model.test", "http://"])
    def test_a_base_url_that_is_none(self, url: str) -> None:
        with pytest.raises(BadProvider, match="no HTTP address"):
            ResponsesClient(Provider(id="test", base_url=url))

    def test_certificates_that_are_none(self, tmp_path: Any) -> None:
        with pytest.raises(BadProvider, match="CODEX_CA_CERTIFICATE='/nowhere'"):
            ResponsesClient(
                Provider(id="test", base_url="https://model.test"),
                environment={"CODEX_CA_CERTIFICATE": "/nowhere"},
            )


class TestConnections:
    async def test_refused(self) -> None:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        await listener.aclose()
        provider = Provider(id="test", base_url=f"http://127.0.0.1:{port}")
        async with ResponsesClient(provider, environment={}) as client:
            error = await failure(client)

        assert isinstance(error, ConnectionFailed)
        assert error.kind == "http_connection_failed"

    async def test_hung_up_on(self) -> None:
        async def hang_up(stream: trio.SocketStream) -> None:
            async with stream:
                await stream.receive_some()

        async with (
            raw_server(hang_up) as base_url,
            ResponsesClient(Provider(id="test", base_url=base_url), environment={}) as client,
        ):
            error = await failure(client)

        assert isinstance(error, ConnectionFailed)

    async def test_a_silent_socket(self) -> None:
        async with served(script_of([{"say": "hi"}, {"sleep": 1000}])) as server:
            provider = Provider(id="test", base_url=server.base_url, stream_idle_timeout=0.05)
            async with ResponsesClient(provider, environment={}) as client:
                events: list[ModelEvent] = []
                error = await failure(client, events)

        assert isinstance(error, StreamDisconnected)
        assert "fell silent" in str(error)
        assert isinstance(events[-1], ItemDone)

    async def test_a_proxy_of_the_environment(self) -> None:
        asked = bytearray()

        async def proxy(stream: trio.SocketStream) -> None:
            async with stream:
                asked.extend(await stream.receive_some())
                await stream.send_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + DONE)

        async with (
            raw_server(proxy) as address,
            ResponsesClient(PROVIDER, environment={"HTTP_PROXY": address}) as client,
        ):
            events = await collect(client)

        assert events == [NO_LIMITS, ResponseCompleted("r")]
        assert asked.startswith(b"POST http://model.test/v1/responses HTTP/1.1\r\n")

    async def test_leaving_early_closes_the_socket_at_once(self) -> None:
        closed = trio.Event()

        async def answer(stream: trio.SocketStream) -> None:
            async with stream:
                await stream.receive_some()
                await stream.send_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                body = delta("a")
                await stream.send_all(b"%x\r\n%s\r\n" % (len(body), body))
                while await stream.receive_some():
                    pass
                closed.set()

        async with (
            raw_server(answer) as base_url,
            ResponsesClient(Provider(id="test", base_url=base_url), environment={}) as client,
        ):
            async with client.stream(PROMPT) as channel:
                assert await channel.receive() == NO_LIMITS
                assert await channel.receive() == TextDelta("a")
            with trio.fail_after(5):
                await closed.wait()

    async def test_a_connection_serves_many_requests(self) -> None:
        connections = 0

        async with served(script_of([{"say": "hi"}])) as server:

            async def count(stream: trio.SocketStream) -> None:
                nonlocal connections
                connections += 1
                await server.serve(stream)

            async with (
                raw_server(count) as base_url,
                ResponsesClient(Provider(id="test", base_url=base_url), environment={}) as client,
            ):
                for _ in range(3):
                    await collect(client)

        assert connections == 1

    async def test_streams_are_spread_over_clients(self) -> None:
        script = script_of([{"say": "hi"}, {"sleep": 1000}])
        async with client_and_server(script) as client:
            assert isinstance(client, ResponsesClient)
            async with trio.open_nursery() as nursery:
                started, opened = trio.open_memory_channel[None](math.inf)

                async def hold() -> None:
                    async with client.stream(PROMPT) as channel:
                        async for event in channel:
                            if isinstance(event, ItemDone):
                                started.send_nowait(None)

                for _ in range(110):
                    nursery.start_soon(hold)
                for _ in range(110):
                    await opened.receive()
                assert client.statistics() == (100, 10)
                nursery.cancel_scope.cancel()
            assert client.statistics() == (0, 0)

    async def test_what_goes_over_the_wire(self) -> None:
        send, receive = trio.open_memory_channel[RecordedRequest](math.inf)
        async with served(script_of([]), send) as server:
            provider = Provider(id="test", base_url=server.base_url)
            async with ResponsesClient(provider, api_key="k", environment={}) as client:
                await collect(client)
        request = await receive.receive()

        assert request.path == "/v1/responses"
        assert request.headers["authorization"] == "Bearer k"
        assert "accept-encoding" not in request.headers
        assert b'"model":"m"' in request.body

    @pytest.mark.parametrize("events", range(6))
    async def test_cancellation_anywhere_leaks_nothing(self, events: int) -> None:
        script = script_of([{"say": "hello"}, {"sleep": 1000}])
        async with served(script) as server:
            provider = Provider(id="test", base_url=server.base_url)
            async with ResponsesClient(provider, environment={}) as client:
                with trio.CancelScope() as scope:
                    if events == 0:
                        scope.cancel()
                    async with client.stream(PROMPT) as channel:
                        for _ in range(events):
                            await channel.receive()
                        scope.cancel()
                        async for _ in channel:
                            pass
                assert scope.cancelled_caught
                await trio.testing.wait_all_tasks_blocked(0.01)
                assert server.statistics().open_streams == 0
                assert sum(client.statistics()) == 0


@asynccontextmanager
async def raw_server(handler: Any) -> AsyncIterator[str]:
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()
