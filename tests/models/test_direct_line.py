"""HTTP over connections of our own, against servers that do what they like."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

import h11
import pytest
import trio
import trio.testing

from codex_actors.models import BadProvider, ConnectionFailed, Prompt, ResponsesClient
from codex_actors.models._direct_line import KEEP_ALIVE, Address, DirectLine
from codex_actors.models._line import LineBroke, LineSilent, Reply
from codex_actors.protocol import Provider
from tests.models.test_responses_client import raw_server

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
WHOLE = CHUNKED + b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"

Handler = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def line_to(handler: Handler, *, idle_timeout: float = math.inf) -> AsyncIterator[DirectLine]:
    async def handle(stream: trio.SocketStream) -> None:
        # Who hangs up with something unread resets the connection.
        with suppress(trio.BrokenResourceError):
            async with stream:
                await handler(stream)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        address = Address(
            host="127.0.0.1", port=port, target=b"/v1?q=1", shown=f"127.0.0.1:{port}", secured=None
        )
        line = DirectLine(address, idle_timeout=idle_timeout)
        try:
            yield line
        finally:
            await line.aclose()
            nursery.cancel_scope.cancel()


def saying(*answers: bytes, heard: list[bytes] | None = None, hang: bool = True) -> Handler:
    """Give each request the next answer; then hang up, or say nothing any more."""

    async def handle(stream: trio.SocketStream) -> None:
        for answer in answers:
            request = b""
            while b"\r\n\r\n" not in request:
                piece = await stream.receive_some()
                if not piece:
                    return
                request += piece
            if heard is not None:
                heard.append(bytes(request))
            await stream.send_all(answer)
        if hang:
            await stream.receive_some()

    return handle


async def read(reply: Reply) -> bytes:
    body = b""
    while (piece := await reply.receive_some()) is not None:
        body += piece
    await reply.aclose()
    return body


async def test_what_is_sent() -> None:
    heard: list[bytes] = []
    async with line_to(saying(*[WHOLE] * 4, heard=heard)) as line:
        assert await read(await line.send({"x": "y"}, [b"one, ", b"two"])) == b"abcdefg"
        assert await read(await line.send({"accept": "*/*"}, None)) == b"abcdefg"
        assert await read(await line.send({"x": "y"}, [b"100%"])) == b"abcdefg"
        assert await read(await line.send({"x": "y"}, [])) == b"abcdefg"

    posted, got, again, empty = (request.decode().split("\r\n") for request in heard)
    assert again == [*posted[:4], "content-length: 4", "", "100%"]
    assert empty == [*posted[:4], "content-length: 0", "", ""]
    assert posted[0] == "POST /v1?q=1 HTTP/1.1"
    assert posted[1].lower().startswith("host: 127.0.0.1:")
    assert [text.lower() for text in posted[2:]] == [
        "connection: keep-alive",
        "x: y",
        "content-length: 8",
        "",
        "one, two",
    ]
    assert got[0] == "GET /v1?q=1 HTTP/1.1"
    assert got[3:] == ["accept: */*", "", ""]


async def test_what_came_together_is_one_piece() -> None:
    async with line_to(saying(WHOLE)) as line:
        reply = await line.send({}, [b""])

        assert [await reply.receive_some(), await reply.receive_some()] == [b"abcdefg", None]
        assert await reply.receive_some() is None
        await reply.aclose()
        await reply.aclose()
        assert await reply.receive_some() is None


async def test_headers_are_of_any_letters_and_may_come_twice() -> None:
    answer = OK + b"X-One: \xe2\x82\xac\r\nx-two: a\r\nX-Two: b\r\nx-three: \xe9\r\n"
    async with line_to(saying(answer + b"content-length: 2\r\n\r\nhi")) as line:
        reply = await line.send({}, [b""])
        headers = dict(reply.headers)

        assert await read(reply) == b"hi"
    del headers["content-length"]
    assert headers == {"x-one": "€", "x-two": "a, b", "x-three": "é"}


async def test_what_a_server_says_beforehand_is_passed_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    async with line_to(saying(early + WHOLE)) as line:
        reply = await line.send({}, [b"x"])

        assert (reply.status, await read(reply)) == (200, b"abcdefg")


async def test_a_body_that_ends_with_its_connection() -> None:
    answer = b"HTTP/1.0 404 Not Found\r\n\r\ngone"
    async with line_to(saying(answer, hang=False)) as line:
        for _ in range(2):
            reply = await line.send({}, [b"x"])
            assert (reply.status, await read(reply)) == (404, b"gone")


async def test_a_request_that_is_refused_half_way_is_answered() -> None:
    async def refuse(stream: trio.SocketStream) -> None:
        await stream.receive_some(10)
        await stream.send_all(b"HTTP/1.1 413 Large\r\ncontent-length: 3\r\n\r\nno!")
        await stream.send_eof()
        while await stream.receive_some():
            pass

    async with line_to(refuse) as line:
        reply = await line.send({}, [b"x" * 1_000_000] * 3)
        assert (reply.status, await read(reply)) == (413, b"no!")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([b""], "Server disconnected"),
        ([b"220 mail.test ESMTP\r\n\r\n"], "illegal status line"),
        ([OK + b"x" * 200_000], ""),
    ],
    ids=["nothing", "garbage", "endless"],
)
async def test_what_is_no_answer(answers: Sequence[bytes], why: str) -> None:
    async with line_to(saying(*answers, hang=False)) as line:
        with pytest.raises(LineBroke) as e:
            await line.send({}, [b"x"])

    assert why in str(e.value.__cause__)


async def test_nobody_listens() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    address = Address(host="127.0.0.1", port=port, target=b"/", shown="x", secured=None)
    with pytest.raises(LineBroke) as e:
        await DirectLine(address, idle_timeout=1).send({}, None)

    assert isinstance(e.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("answer", "first"),
    [(CHUNKED + b"3\r\nabc\r\n!!\r\n", b"abc"), (CHUNKED + b"3\r\nabc\r\n", b"abc")],
    ids=["garbage", "cut off"],
)
async def test_what_came_before_the_break_counts(answer: bytes, first: bytes) -> None:
    async with line_to(saying(answer, hang=False)) as line:
        reply = await line.send({}, [b"x"])
        assert await reply.receive_some() == first
        for _ in range(2):
            with pytest.raises(LineBroke):
                await reply.receive_some()
        await reply.aclose()


async def test_silence(autojump_clock: trio.testing.MockClock) -> None:
    async with line_to(saying(CHUNKED + b"1\r\na\r\n"), idle_timeout=60) as line:
        reply = await line.send({}, [b"x"])
        assert await reply.receive_some() == b"a"
        with pytest.raises(LineSilent):
            await reply.receive_some()
        await reply.aclose()
        assert trio.current_time() == 60


async def test_silence_before_an_answer(autojump_clock: trio.testing.MockClock) -> None:
    async with raw_server(saying(b"")) as base_url:
        provider = Provider(id="test", base_url=base_url, stream_idle_timeout=60)
        async with ResponsesClient(provider, environment={}) as client:
            with pytest.raises(ConnectionFailed, match="within 60 seconds"):
                async with client.stream(Prompt(model="m", input=())):
                    pass
            assert trio.current_time() == 60


async def test_what_cannot_be_sent() -> None:
    async with line_to(saying(WHOLE)) as line:
        with pytest.raises(LineBroke) as e:
            await line.send({"x": "a\r\nb: c"}, [b""])

    assert isinstance(e.value.__cause__, h11.LocalProtocolError)


async def test_heads_are_not_kept_for_ever() -> None:
    async with line_to(saying(*[WHOLE] * 600)) as line:
        for number in range(600):
            await read(await line.send({"x": str(number)}, [b""]))
            assert len(line._heads) <= 256


@pytest.mark.parametrize("rest", [b"", b"HTTP/1.1 200 Unasked\r\n"], ids=["hangs up", "goes on"])
async def test_a_connection_that_is_of_no_more_use(rest: bytes) -> None:
    heard: list[bytes] = []
    handler = saying(WHOLE + rest, heard=heard, hang=bool(rest))
    async with line_to(handler) as line:
        for _ in range(3):
            assert await read(await line.send({}, [b"x"])) == b"abcdefg"
            await trio.sleep(0.01)

    assert len(heard) == 3


async def test_connections_are_kept_for_a_while(mock_clock: trio.testing.MockClock) -> None:
    connections = 0

    async def count(stream: trio.SocketStream) -> None:
        nonlocal connections
        connections += 1
        await saying(WHOLE, WHOLE, WHOLE, WHOLE)(stream)

    async with line_to(count) as line:

        async def two() -> None:
            replies = [await line.send({}, [b"x"]) for _ in range(2)]
            for reply in replies:
                await read(reply)

        await two()
        await two()
        once = connections
        mock_clock.jump(KEEP_ALIVE + 1)
        await two()

    assert (once, connections) == (2, 4)


async def test_who_closes_early_closes_the_connection() -> None:
    ended = trio.Event()

    async def wait(stream: trio.SocketStream) -> None:
        await saying(CHUNKED + b"1\r\na\r\n")(stream)
        ended.set()

    async with line_to(wait) as line:
        reply = await line.send({}, [b"x"])
        await reply.aclose()
        with trio.fail_after(5):
            await ended.wait()


@pytest.mark.parametrize("checkpoints", range(8))
async def test_cancellation_closes_the_connection(checkpoints: int) -> None:
    ended = trio.Event()

    async def wait(stream: trio.SocketStream) -> None:
        try:
            await saying(CHUNKED + b"1\r\na\r\n")(stream)
        finally:
            ended.set()

    async with line_to(wait) as line, trio.open_nursery() as nursery:
        replies: list[Reply] = []

        async def ask() -> None:
            replies.append(await line.send({}, [b"x"]))
            await read(replies[0])

        nursery.start_soon(ask)
        for _ in range(checkpoints):
            await trio.lowlevel.checkpoint()
        if checkpoints == 7:
            await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert not line._open
            if replies:
                assert ended.is_set()
                assert await replies[0].receive_some() is None


async def test_closing_breaks_the_streams_that_run() -> None:
    async with line_to(saying(CHUNKED + b"1\r\na\r\n")) as line:
        reply = await line.send({}, [b"x"])
        await reply.receive_some()
        await line.aclose()
        with pytest.raises(LineBroke):
            await reply.receive_some()
        await reply.aclose()


async def test_closing_in_the_middle_of_a_cancellation_closes_every_connection() -> None:
    ended = 0
    all_ended = trio.Event()

    async def wait(stream: trio.SocketStream) -> None:
        nonlocal ended
        await saying(CHUNKED + b"1\r\na\r\n")(stream)
        ended += 1
        if ended == 150:
            all_ended.set()

    async with raw_server(wait) as base_url:
        client = ResponsesClient(Provider(id="test", base_url=base_url), environment={})
        prompt = Prompt(model="m", input=())
        # More than one line has room for.
        streams = [client.stream(prompt) for _ in range(150)]
        for stream in streams:
            await stream.__aenter__()
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.aclose()

        assert scope.cancelled_caught
        with trio.fail_after(5):
            await all_ended.wait()
        for stream in streams:
            await stream.__aexit__(None, None, None)


async def test_a_line_that_is_closed_keeps_nothing() -> None:
    async with line_to(saying(WHOLE)) as line:
        reply = await line.send({}, [b"x"])
        assert await reply.receive_some() == b"abcdefg"
        await line.aclose()
        await reply.aclose()

        assert (line._free, line._open) == ([], set())


async def test_a_line_that_is_closed_while_it_connects_opens_nothing() -> None:
    async with line_to(saying(WHOLE)) as line, trio.open_nursery() as nursery:
        errors: list[LineBroke] = []

        async def ask() -> None:
            try:
                await line.send({}, [b"x"])
            except LineBroke as error:
                errors.append(error)

        nursery.start_soon(ask)
        await trio.lowlevel.checkpoint()
        await line.aclose()
        await trio.testing.wait_all_tasks_blocked(0.01)

        assert (len(errors), line._open) == (1, set())


async def test_whoever_names_a_host_means_it() -> None:
    heard: list[bytes] = []
    async with line_to(saying(WHOLE, heard=heard)) as line:
        await read(await line.send({"host": "behind.test", "connection": "close"}, [b"x"]))

        assert (line._free, line._open) == ([], set())
    assert heard[0].split(b"\r\n")[1:3] == [b"host: behind.test", b"connection: close"]


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
async def test_where_a_body_ends_is_not_for_settings_to_say(name: str) -> None:
    provider = Provider(id="test", base_url="http://127.0.0.1:9", http_headers={name: "0"})
    async with ResponsesClient(provider, environment={}) as client:
        with pytest.raises(BadProvider, match=name.lower()):
            async with client.stream(Prompt(model="m", input=())):
                pass


async def test_an_address_that_cannot_be_encoded() -> None:
    provider = Provider(id="test", base_url="http://127.0.0.1:9/\ud800")
    async with ResponsesClient(provider, environment={}) as client:
        with pytest.raises(BadProvider, match="no request can be sent"):
            async with client.stream(Prompt(model="m", input=())):
                pass
