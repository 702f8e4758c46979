from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._human import clean
from codex_actors.cli._visible import fold, visible, wrap

TRICKY = "\x00\x07\x1b\r\n\x7f\x9b\u00a0\u00ad\u034f\u061c\u115f\u200b\u200d\u200e\u202e\u2028\u2066\u2800\u3164\ufe0f\ufeff\ue000\ud800\U000e0041<U+1B>"
LINES = st.text(st.sampled_from(TRICKY + "ab ́é日ि") | st.characters(), max_size=40)


def read_back(shown: str) -> str:
    return re.sub(r"<U\+([0-9A-F]{4,6})>", lambda spelled: chr(int(spelled[1], 16)), shown)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("make test && echo 'ok' <in >out", "make test && echo 'ok' <in >out"),
        ("\x1b[31mred", "<U+001B>[31mred"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("rm\u00a0-rf", "rm<U+00A0>-rf"),
        ("a\u200bb", "a<U+200B>b"),
        ("two\nlines\r", "two<U+000A>lines<U+000D>"),
        ("<U+202E>", "<U+003C>U+202E>"),
        ("a\tb", "a       b"),
        ("\ud800", "<U+D800>"),
        ("\U000e0041", "<U+E0041>"),
        ("e\u0338", "e<U+0338>"),
        ("naïve Grüße 日本語 Привет हिन्दी", "naïve Grüße 日本語 Привет हिन्दी"),
    ],
)
def test_what_does_not_show_is_spelled(line: str, shown: str) -> None:
    assert shown == visible(line)


@given(LINES)
def test_nothing_hides_and_nothing_is_obeyed(line: str) -> None:
    shown = visible(line)

    assert shown == clean(shown)
    assert all(char.isascii() or unicodedata.category(char)[0] in "LMNPS" for char in shown)
    assert shown.isprintable()


@given(LINES.map(lambda line: line.replace("\t", "")))
def test_it_can_be_read_back(line: str) -> None:
    assert line == read_back(visible(line))


@given(LINES, st.integers(2, 30))
def test_rows_hold_everything_and_are_no_wider_than_there_is_room(line: str, width: int) -> None:
    shown = visible(line)
    rows = fold(shown, width)

    assert shown == "".join(rows)
    assert rows
    assert all(0 < len(row) <= width for row in rows) or rows == [""]
    assert all(cells(row) <= width for row in rows)


@given(LINES, st.integers(2, 30))
def test_wrapped_rows_hold_everything_too(line: str, width: int) -> None:
    rows = wrap(visible(line), width)

    assert visible(line) == "".join(rows)
    assert all(cells(row) <= width for row in rows)


def test_rows_end_between_words_where_they_can() -> None:
    assert ["one two ", "abcdefghij", "klm end"] == wrap("one two abcdefghijklm end", 10)


def cells(row: str) -> int:
    """As wide as any terminal may have it."""
    return sum(2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in row)
