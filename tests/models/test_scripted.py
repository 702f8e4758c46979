from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import h11
import pytest
import trio
import trio.testing

from codex_actors.models import (
    InvalidRequest,
    ModelClient,
    Prompt,
    RateLimited,
    ResponsesClient,
    Script,
    ScriptedModel,
    ScriptedServer,
    ScriptMismatch,
    StreamDisconnected,
    parse_script,
    script_of,
    serve_scripted,
)
from codex_actors.protocol import (
    ItemAdded,
    ItemDone,
    Message,
    ModelEvent,
    OutputText,
    Provider,
    RateLimits,
    RateLimitsSeen,
    ReasoningSummaryPartAdded,
    ResponseCompleted,
    ResponseCreated,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolInputDelta,
)
from codex_actors.testing import MakeClient, check_model_client

PROMPT = Prompt(model="m", input=())


async def collect(client: ModelClient, prompt: Prompt = PROMPT) -> list[ModelEvent]:
    async with client.stream(prompt) as channel:
        return [event async for event in channel]


@asynccontextmanager
async def in_process(script: Script) -> AsyncIterator[ModelClient]:
    yield ScriptedModel(script)


@asynccontextmanager
async def served(script: Script) -> AsyncIterator[ScriptedServer]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_scripted, script))
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def over_http(script: Script) -> AsyncIterator[ModelClient]:
    async with served(script) as server:
        provider = Provider(id="test", base_url=server.base_url)
        async with ResponsesClient(provider, environment={}) as client:
            yield client


async def test_it_keeps_the_contract() -> None:
    await check_model_client(in_process)


async def test_a_response() -> None:
    usage = TokenUsage(input_tokens=100, cached_input_tokens=20, output_tokens=10, total_tokens=110)
    message = Message(
        role="assistant",
        content=(OutputText("abcde", {"annotations": []}),),
        id="msg_r0i0",
        extra={"status": "completed"},
    )
    begun = Message(role="assistant", content=(), id="msg_r0i0", extra={"status": "completed"})

    assert await collect(ScriptedModel([{"say": "abcde"}])) == [
        RateLimitsSeen(RateLimits(limit_id="codex")),
        ResponseCreated("resp_r0"),
        ItemAdded(begun),
        TextDelta("ab", "msg_r0i0"),
        TextDelta("cd", "msg_r0i0"),
        TextDelta("e", "msg_r0i0"),
        ItemDone(message),
        ResponseCompleted("resp_r0", usage),
    ]


async def test_calls_are_counted_within_their_step() -> None:
    model = ScriptedModel(
        [{"reason": "hm"}, {"call": "a"}, {"custom": "b", "input": "xyz"}, {"call": "c"}]
    )
    events = await collect(model)
    calls = [
        e.item.call_id for e in events if isinstance(e, ItemDone) and isinstance(e.item, ToolCall)
    ]

    assert calls == ["r0c0", "r0c1", "r0c2"]
    assert ReasoningSummaryPartAdded(0, "rs_r0i0") in events
    assert [e.delta for e in events if isinstance(e, ToolInputDelta)] == ["x", "y", "z"]


async def test_arguments() -> None:
    model = ScriptedModel(
        [
            {"call": "a", "args": {"x": [1]}, "namespace": "ns"},
            {"call": "b", "raw_args": "{not json"},
        ]
    )
    events = await collect(model)
    calls = [e.item for e in events if isinstance(e, ItemDone)]

    assert [(c.tool, c.arguments) for c in calls if isinstance(c, ToolCall)] == [
        ("ns/a", '{"x": [1]}'),
        ("b", "{not json"),
    ]


async def test_history_items_and_raw_events() -> None:
    call = ToolCall(call_id="c1", name="x", arguments="{}", id="fc_1")
    failed = {"type": "response.output_text.delta", "delta": "raw"}
    events = await collect(ScriptedModel([call, {"event": failed}]))

    assert ItemDone(call) in events
    assert TextDelta("raw") in events


async def test_pauses(autojump_clock: trio.testing.MockClock) -> None:
    await collect(ScriptedModel([{"sleep": 30}, {"say": "hi"}]))

    assert trio.current_time() == pytest.approx(30)


@pytest.mark.parametrize("make_client", [in_process, over_http])
class TestBoth:
    async def test_the_same_events(self, make_client: MakeClient) -> None:
        script = script_of(
            [{"reason": "hm"}, {"say": "a\u2028\U0001f600"}, {"call": "x", "args": {"y": "\x00"}}]
        )

        async with make_client(script) as client:
            assert await collect(client) == await collect(ScriptedModel(script))

    async def test_a_refusal(self, make_client: MakeClient) -> None:
        refusal = {
            "http": 429,
            "body": {"error": {"message": "slow down"}},
            "headers": {"Retry-After": "9", "x-request-id": "req"},
        }
        async with make_client(script_of([refusal])) as client:
            with pytest.raises(RateLimited, match="slow down") as caught:
                await collect(client)

        assert (caught.value.retry_after, caught.value.request_id) == (9.0, "req")

    async def test_a_drop(self, make_client: MakeClient) -> None:
        script = script_of([{"drop": False}, {"drop": True}, {"say": "never"}])
        async with make_client(script) as client:
            with pytest.raises(StreamDisconnected):
                await collect(client)


MISMATCH = parse_script(b'[{"expect":[{"matches":"x"}],"items":[]}]')


async def test_a_mismatch() -> None:
    with pytest.raises(ScriptMismatch):
        await collect(ScriptedModel(MISMATCH))


async def test_a_mismatch_over_http() -> None:
    async with over_http(MISMATCH) as client:
        with pytest.raises(InvalidRequest, match="step 0 of the script expects"):
            await collect(client)


async def test_subagents_are_told_by_a_header() -> None:
    script = parse_script(b'{"subagents":{"review":[[{"say":"reviewed"}]]}}')
    prompt = Prompt(model="m", input=(), headers=(("x-openai-subagent", "review"),))

    for make_client in (in_process, over_http):
        async with make_client(script) as client:
            told = [e.delta for e in await collect(client, prompt) if isinstance(e, TextDelta)]

            assert "".join(told) == "reviewed"


class TestServer:
    async def ask(self, server: ScriptedServer, *requests: bytes) -> list[tuple[int, bytes]]:
        host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        stream = await trio.open_tcp_stream(host, int(port))
        answers = []
        async with stream:
            for request in requests:
                await stream.send_all(request)
                answers.append(await read_answer(stream))
        return answers

    def post(self, body: bytes, path: str = "/v1/responses") -> bytes:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    async def test_what_is_no_request(self) -> None:
        async with served(script_of([])) as server:
            answers = await self.ask(
                server,
                self.post(b"{"),
                self.post(b"[]"),
                self.post(b'{"input":[5]}'),
                self.post(b"{}", "/v1/models"),
                self.post(b"{}"),
            )

        assert [status for status, _ in answers] == [400, 400, 400, 404, 200]
        assert json.loads(answers[3][1]) == {"error": {"message": "there is only /responses here"}}

    async def test_what_is_no_http(self) -> None:
        async with served(script_of([])) as server:
            host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                await stream.send_all(b"\x16\x03\x01 hello\r\n\r\n")
                assert await stream.receive_some() == b""
            assert await collect_over(server) != []

    async def test_statistics(self) -> None:
        async with served(script_of([{"say": "a"}])) as server:
            await collect_over(server)
            await collect_over(server)

            assert (server.statistics().requests, server.statistics().open_streams) == (2, 0)


async def collect_over(server: ScriptedServer) -> list[ModelEvent]:
    provider = Provider(id="test", base_url=server.base_url)
    async with ResponsesClient(provider, environment={}) as client:
        return await collect(client)


async def read_answer(stream: trio.SocketStream) -> tuple[int, bytes]:
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    status, body = 0, b""
    while True:
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(bytes(await stream.receive_some()))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        else:
            return status, body
