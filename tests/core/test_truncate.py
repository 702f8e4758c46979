from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from codex_actors.core._truncate import (
    Captured,
    HeadTail,
    format_truncated,
    truncate_middle,
)
from codex_actors.protocol import TruncationPolicy

NUMBERS = "".join(f"{i}\n" for i in range(1, 3001))


def tokens(limit: int) -> TruncationPolicy:
    return TruncationPolicy("tokens", limit)


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        ("aaaa", tokens(1), "aaaa"),
        ("aaaaa", tokens(1), "aa…1 tokens truncated…aa"),
        ("a" * 15, tokens(3), "aaaaaa…1 tokens truncated…aaaaaa"),
        ("aaaaaaa\naaaaaaaa\n\n", tokens(3), "aaaaaa…2 tokens truncated…aaaa\n\n"),
        ("é" * 100, tokens(9), "ééééééééé…41 tokens truncated…ééééééééé"),
        ("a\nb\n", tokens(0), "…1 tokens truncated…"),
        ("", tokens(0), ""),
        ("abcdefghij", TruncationPolicy("bytes", 5), "ab…5 chars truncated…hij"),
        ("éééé", TruncationPolicy("bytes", 3), "…3 chars truncated…é"),
        ("a\U0001f600b\U0001f600c", TruncationPolicy("bytes", 7), "a…3 chars truncated…c"),
        ("a\ud800\ud800b", TruncationPolicy("bytes", 4), "a…2 chars truncated…b"),
    ],
)
def test_truncate_middle(text: str, policy: TruncationPolicy, expected: str) -> None:
    assert expected == truncate_middle(text, policy)


def test_format_says_how_much_there_was() -> None:
    assert (
        "Warning: truncated output (original token count: 3474)\nTotal output lines: 3000\n\n"
        + "".join(f"{i}\n" for i in range(1, 17))
        + "1…3454 tokens truncated…"
        + "".join(f"{i}\n" for i in range(2993, 3001))
    ) == format_truncated(NUMBERS, tokens(20))


@pytest.mark.parametrize(("text", "lines"), [("a" * 9, 1), ("a\n" * 9, 9), ("\n" * 9 + "a", 10)])
def test_lines_are_counted_as_people_do(text: str, lines: int) -> None:
    assert f"\nTotal output lines: {lines}\n" in format_truncated(text, tokens(1))


def test_format_leaves_what_fits() -> None:
    assert format_truncated("a\nb", tokens(1), original_bytes=9999, omitted_bytes=9) == "a\nb"


def test_format_says_what_the_buffer_has_dropped() -> None:
    buffer = HeadTail(64)
    buffer.append(b"x" * 1000)
    captured = buffer.take(final=True)

    assert Captured("x" * 32 + "\n... 936 bytes omitted ...\n" + "x" * 32, 1000, 936) == captured
    assert format_truncated(
        captured.text, tokens(2), original_bytes=captured.size, omitted_bytes=captured.omitted
    ) == (
        "Warning: truncated output (original token count: 250)\n... 936 bytes omitted ...\n\n"
        "xxxx…21 tokens truncated…xxxx"
    )


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        tokens(-1)


POLICY = st.builds(TruncationPolicy, st.sampled_from(["bytes", "tokens"]), st.integers(0, 40))
MARKER = re.compile(r"…\d+ (?:tokens|chars) truncated…")
Truncate = Callable[[str, TruncationPolicy], str]


def check_laws(truncate: Truncate, text: str, policy: TruncationPolicy) -> None:
    size, actual = len(text.encode()), truncate(text, policy)
    if size <= policy.max_bytes:
        assert text == actual
        return
    found = MARKER.search(actual)
    assert found is not None
    head, tail = actual[: found.start()], actual[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert policy.max_bytes - 6 <= len((head + tail).encode()) <= policy.max_bytes


@given(st.text("aé\U0001f600\n", max_size=200), POLICY)
def test_laws(text: str, policy: TruncationPolicy) -> None:
    check_laws(truncate_middle, text, policy)


def counting_chars(text: str, policy: TruncationPolicy) -> str:
    half = policy.max_bytes // 2
    return (
        text if len(text) <= policy.max_bytes else f"{text[:half]}…1 chars truncated…{text[-half:]}"
    )


def splitting(text: str, policy: TruncationPolicy) -> str:
    data, half = text.encode(), policy.max_bytes // 2
    if len(data) <= policy.max_bytes:
        return text
    head = data[:half].decode("utf-8", "replace")
    return f"{head}…1 chars truncated…"


@pytest.mark.parametrize("wrong", [counting_chars, splitting])
def test_the_laws_have_teeth(wrong: Truncate) -> None:
    @settings(derandomize=True, phases=[Phase.generate])
    @given(st.text("aé\U0001f600\n", max_size=200), POLICY)
    def law(text: str, policy: TruncationPolicy) -> None:
        check_laws(wrong, text, policy)

    with pytest.raises(AssertionError):
        law()


# ---- the buffer of a process


def test_each_reading_has_what_is_new() -> None:
    buffer = HeadTail()
    buffer.append(b"one\n")

    assert Captured("one\n", 4, 0) == buffer.take()
    assert Captured("", 0, 0) == buffer.take()
    buffer.append(b"two\n")
    assert Captured("two\n", 4, 0) == buffer.take(final=True)


def test_a_code_point_waits_for_its_end() -> None:
    buffer = HeadTail()
    buffer.append(b"a\xf0\x9f\x98")

    assert Captured("a", 1, 0) == buffer.take()
    buffer.append(b"\x80b")
    assert Captured("\U0001f600b", 5, 0) == buffer.take()


def test_a_code_point_without_an_end_is_replaced_at_last() -> None:
    buffer = HeadTail()
    buffer.append(b"\xff\xfea\xc3")

    assert Captured("\ufffd\ufffda", 3, 0) == buffer.take()
    assert Captured("\ufffd", 1, 0) == buffer.take(final=True)


def test_a_code_point_across_the_halves_stays_whole() -> None:
    buffer = HeadTail(16)
    buffer.append(b"1234567\xe2")
    buffer.append(b"\x82")

    assert Captured("1234567", 7, 0) == buffer.take()
    buffer.append(b"\xac")
    assert Captured("€", 3, 0) == buffer.take()


def test_what_is_omitted_is_cut_at_code_points() -> None:
    buffer = HeadTail(16)
    buffer.append(("€" * 100).encode())

    assert Captured("€€\n... 288 bytes omitted ...\n€€", 300, 288) == buffer.take()


def test_a_hundred_megabytes_pass_through_one() -> None:
    buffer = HeadTail()
    piece = b"x" * 65_536
    for _ in range(1600):
        buffer.append(piece)

    captured = buffer.take()

    assert (captured.size, captured.omitted) == (1600 * 65_536, 1599 * 65_536 - 15 * 65_536)
    assert len(captured.text) < 1024 * 1024 + 50


@given(
    st.text("aé€\U0001f600", max_size=60), st.lists(st.integers(0, 200), max_size=6), st.booleans()
)
def test_pieces_do_not_matter(text: str, marks: list[int], reading: bool) -> None:
    data, buffer, texts, size = text.encode(), HeadTail(16 if not reading else 1000), list[str](), 0
    edges = [0, *sorted(min(mark, len(data)) for mark in marks), len(data)]
    for a, b in pairwise(edges):
        buffer.append(data[a:b])
        if reading:
            captured = buffer.take()
            texts.append(captured.text)
            size += captured.size
    last = buffer.take(final=True)
    whole = HeadTail(16 if not reading else 1000)
    whole.append(data)

    assert whole.take(final=True)[::2] == (("".join(texts) + last.text), last.omitted)
    assert len(data) == size + last.size
    assert "\ufffd" not in last.text
