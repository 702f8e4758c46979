from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_actors.protocol import Recorded, RolloutLine, UnknownLine, user_message
from codex_actors.rollout import UnreadableRollout, read_tail
from codex_actors.testing import _strategies as some
from codex_actors.wire import encode_line

STAMP = "2026-01-02T12:04:05.678Z"


def said(text: str) -> RolloutLine:
    return RolloutLine(STAMP, Recorded(user_message(text)))


def test_the_last_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = [said(f"{number}") for number in range(9)]
    size = len(encode_line(lines[0]))
    path.write_bytes(b"".join(map(encode_line, lines)))

    assert tuple(lines) == read_tail(str(path))
    assert tuple(lines) == read_tail(str(path), 9 * size)
    assert tuple(lines[1:]) == read_tail(str(path), 9 * size - 1)
    assert tuple(lines[7:]) == read_tail(str(path), 2 * size)
    assert tuple(lines[8:]) == read_tail(str(path), 2 * size - 1)


def test_a_line_that_is_longer_than_the_tail_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(map(encode_line, [said("a"), said("b" * 9999)])) + b'{"torn')

    assert said("b" * 9999) == read_tail(str(path), 100)[-1]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b"\xff\n\n[]\n" + encode_line(said("a")) + b"{}\n" + encode_line(said("b"))[:9]
    )

    assert (said("a"),) == read_tail(str(path))


def test_there_may_be_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"")

    assert () == read_tail(str(path))
    path.write_bytes(b"x" * 999)
    assert () == read_tail(str(path), 10)
    with pytest.raises(UnreadableRollout, match="Is a directory"):
        read_tail(str(tmp_path))


@given(
    st.lists(
        some.rollout_lines() | st.just(RolloutLine("", UnknownLine("zz", "\u2028"))), max_size=5
    ),
    st.integers(1, 999),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tail_is_an_end(tmp_path: Path, lines: list[RolloutLine], max_bytes: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(map(encode_line, lines)))
    tail = read_tail(str(path), max_bytes)
    whole = read_tail(str(path), 10**6)

    assert len(lines) == len(whole)
    assert tail == whole[len(whole) - len(tail) :]
    assert bool(tail) == bool(lines)
