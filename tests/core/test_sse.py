from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from codex_actors.core._sse import ServerSentEvent, SseDecoder, SseError


class Decoder(Protocol):
    def feed(self, data: bytes) -> list[ServerSentEvent]: ...


def decoded(decoder: Decoder, pieces: Iterable[bytes]) -> tuple[list[ServerSentEvent], bool]:
    """Return the events and whether the stream was refused."""
    events: list[ServerSentEvent] = []
    try:
        for piece in pieces:
            events += decoder.feed(piece)
        decoder.feed(b"")
    except SseError:
        return events, True
    return events, False


def parse(*pieces: bytes) -> list[tuple[bytes, bytes]]:
    events, refused = decoded(SseDecoder(), pieces)
    assert not refused
    return events


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(b"event: a\ndata: 1\n\n", [(b"a", b"1")], id="one"),
        pytest.param(b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", [(b"a", b"1"), (b"b", b"2")], id="two"),
        pytest.param(b"data: 1\n\n", [(b"message", b"1")], id="no event name"),
        pytest.param(b"event: \ndata: 1\n\n", [(b"message", b"1")], id="empty event name"),
        pytest.param(b"data: 1\nevent: a\n\n", [(b"a", b"1")], id="name after data"),
        pytest.param(b"event: a\nevent: b\ndata: 1\n\n", [(b"b", b"1")], id="the last name counts"),
        pytest.param(b"event: a\ndata: 1\ndata: 2\n\n", [(b"a", b"1\n2")], id="data lines"),
        pytest.param(b"event: a\nid: 7\ndata: 1\nretry: 3\n\n", [(b"a", b"1")], id="other fields"),
        pytest.param(b"event:a\ndata:1\n\n", [(b"a", b"1")], id="no space"),
        pytest.param(b"event:  a\ndata:  1\n\n", [(b" a", b" 1")], id="one space is dropped"),
        pytest.param(b"data\n\n", [(b"message", b"")], id="a field without a colon"),
        pytest.param(b"data:\n\n", [(b"message", b"")], id="empty data"),
        pytest.param(b"event: a\n\ndata: 1\n\n", [(b"message", b"1")], id="a name without data is lost"),
        pytest.param(b": ping\n\n", [], id="comment"),
        pytest.param(b": ping\nevent: a\ndata: 1\n\n", [(b"a", b"1")], id="comment before"),
        pytest.param(b"\n\n\ndata: 1\n\n\n\n", [(b"message", b"1")], id="blank lines"),
        pytest.param(b"event: a\r\ndata: 1\r\n\r\n", [(b"a", b"1")], id="CRLF"),
        pytest.param(b"event: a\rdata: 1\r\r", [(b"a", b"1")], id="CR"),
        pytest.param(b"event: a\ndata: 1\r\n\ndata: 2\n\r", [(b"a", b"1"), (b"message", b"2")], id="mixed"),
        pytest.param(b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [(b"message", b"1")], id="byte order mark"),
        pytest.param("data: a\u2028b\x85c\x0b\n\n".encode(), [(b"message", "a\u2028b\x85c\x0b".encode())], id="U+2028"),
        pytest.param(b"data: \xff\0\n\n", [(b"message", b"\xff\0")], id="not UTF-8"),
        pytest.param(b"data: 1\n", [], id="cut short"),
        pytest.param(b"data: 1", [], id="cut shorter"),
    ],
)  # fmt: skip
def test_streams(stream: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    assert expected == parse(stream)
    assert expected == parse(*(stream[i : i + 1] for i in range(len(stream))))


def test_an_event_comes_as_soon_as_it_is_complete() -> None:
    decoder = SseDecoder()

    assert decoder.feed(b"data: 1\r\n") == []
    assert [(b"message", b"1")] == decoder.feed(b"\r")
    assert decoder.feed(b"\n") == []
    assert [(b"message", b"2")] == decoder.feed(b"data: 2\n\n")


def test_an_event_too_large() -> None:
    decoder = SseDecoder(max_event_bytes=10)

    assert [(b"message", b"1")] == decoder.feed(b"data: 1\n\ndata: 123456")
    for _ in range(2):
        with pytest.raises(SseError, match="an event of 12 bytes or more exceeds the limit of 10"):
            decoder.feed(b"")


def test_an_event_of_many_pieces_is_searched_once() -> None:
    """Quadratic work would be 2 ** 38 bytes of it."""
    piece = b"x" * 64
    pieces = [b"event: image\ndata: ", *[piece] * 2**17, b"\n", b"\n"]

    assert [(b"image", piece * 2**17)] == parse(*pieces)


# ---- laws

FIELD = st.sampled_from(
    [b"event: a", b"event:", b"data: 1", b"data: 2", b"data", b": c", b"id: 1", b"\xef\xbb\xbf", b"data: " + b"x" * 20]
)  # fmt: skip
END = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\n\n\n", b"\r\n\r\n", b""])
STREAM = st.lists(
    st.builds(bytes.__add__, FIELD, END) | END | st.binary(max_size=3), max_size=12
).map(b"".join)


@st.composite
def cuts(draw: st.DrawFn) -> list[bytes]:
    stream = draw(STREAM)
    if draw(st.booleans()):
        return [stream[i : i + 1] for i in range(len(stream))]
    marks = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[a:b] for a, b in zip([0, *marks], [*marks, len(stream)], strict=True)]


@given(cuts(), st.integers(1, 40))
def test_how_the_bytes_are_cut_does_not_matter(pieces: list[bytes], limit: int) -> None:
    whole = decoded(SseDecoder(max_event_bytes=limit), [b"".join(pieces)])

    assert whole == decoded(SseDecoder(max_event_bytes=limit), pieces)


def by_the_book(stream: bytes) -> list[ServerSentEvent]:
    """The algorithm of the WHATWG, line by line, over a whole stream."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, event, data = list[ServerSentEvent](), b"", list[bytes]()
    for line in text.split(b"\n")[:-1]:
        field, _, value = line.partition(b":")
        if not line:
            if data:
                events.append((event or b"message", b"\n".join(data)))
            event, data = b"", []
        elif field == b"event":
            event = value.removeprefix(b" ")
        elif field == b"data":
            data.append(value.removeprefix(b" "))
    return events


@given(cuts())
def test_agrees_with_the_book(pieces: list[bytes]) -> None:
    assert (by_the_book(b"".join(pieces)), False) == decoded(SseDecoder(), pieces)


WHOLE = st.sampled_from(
    [
        b"event: a\ndata: 1\n\n",
        b"event: a\ndata: 22\n\n",
        b"event: a\ndata: \n\n",
        b"event: a\ndata: 1\ndata: 2\n\n",
        b"event: a\ndata: 1\n\n\n",
        b"event: a\ndata: 1\nevent: b\n\n",
        b"event: b\ndata: 1\n\n",
        b"event: \ndata: 1\n\n",
        b"data: 1\n\n",
        b"event: a\ndata: 1",
    ]
)
RUNS = st.lists(st.lists(WHOLE, min_size=1, max_size=3).map(b"".join), max_size=6)


@given(RUNS)
def test_runs_of_whole_events_agree_with_the_book(pieces: list[bytes]) -> None:
    assert (by_the_book(b"".join(pieces)), False) == decoded(SseDecoder(), pieces)


@example([b"event: a\ndata: 1\n\n", b"event: a\ndata: 22\n\n"], 16)
@given(RUNS, st.integers(10, 60))
def test_runs_may_be_cut_anywhere(pieces: list[bytes], limit: int) -> None:
    whole = decoded(SseDecoder(max_event_bytes=limit), [b"".join(pieces)])

    assert whole == decoded(SseDecoder(max_event_bytes=limit), pieces)


class Forgetful:
    """Parses each piece for itself."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        return SseDecoder().feed(data)


class HalfCrlf:
    """Takes the second half of a CRLF for another line end."""

    def __init__(self) -> None:
        self._decoder = SseDecoder()

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        return self._decoder.feed(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


@pytest.mark.parametrize("wrong", [Forgetful, HalfCrlf])
def test_the_law_has_teeth(wrong: type[Forgetful | HalfCrlf]) -> None:
    @settings(derandomize=True, phases=[Phase.generate])
    @given(cuts())
    def law(pieces: list[bytes]) -> None:
        assert decoded(wrong(), [b"".join(pieces)]) == decoded(wrong(), pieces)

    with pytest.raises(AssertionError):
        law()
