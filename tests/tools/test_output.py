from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.tools._output import DELTA_BYTES, MAX_DELTAS, CommandOutputBuffer

pieces = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.text(st.sampled_from("aé€😀"), max_size=6).map(str.encode),
        st.just("€".encode() * 4000),
    ),
    max_size=6,
)


def run(chunks: list[bytes], announced: list[bytes]) -> str:
    buffer = CommandOutputBuffer(announced.append)
    for chunk in chunks:
        buffer.append(chunk)
    return buffer.close()


def without_rest(chunks: list[bytes], announced: list[bytes]) -> str:
    """A wrong variant: it announces what comes as it comes."""
    announced += chunks
    return b"".join(chunks).decode("utf-8", "replace")


def broken(chunks: list[bytes], announced: list[bytes]) -> str:
    """A wrong variant: it forgets what is incomplete in the end."""
    text = run(chunks, announced)
    if announced:
        announced.pop()
    return text


def cut_somewhere(text: str) -> list[bytes]:
    data = text.encode()
    return [data[i : i + 5] for i in range(0, len(data), 5)]


def holds(variant: Callable[[list[bytes], list[bytes]], str], chunks: list[bytes]) -> bool:
    announced: list[bytes] = []
    text = variant(chunks, announced)
    whole = b"".join(chunks)
    if b"".join(announced) != whole or text != whole.decode("utf-8", "replace"):
        return False
    if any(len(piece) > DELTA_BYTES for piece in announced):
        return False
    return "".join(piece.decode("utf-8", "replace") for piece in announced) == text


@given(pieces)
def test_what_is_announced_is_the_output_and_splits_no_character(chunks: list[bytes]) -> None:
    assert holds(run, chunks)


@pytest.mark.parametrize("variant", [without_rest, broken])
def test_the_law_finds_wrong_variants(
    variant: Callable[[list[bytes], list[bytes]], str],
) -> None:
    assert not all(holds(variant, chunks) for chunks in [cut_somewhere("aé€😀" * 9), [b"a"]])


def test_a_chatterbox_is_not_announced_for_ever() -> None:
    announced: list[bytes] = []
    text = run([b"x"] * (MAX_DELTAS + 10), announced)

    assert (MAX_DELTAS, "x" * (MAX_DELTAS + 10)) == (len(announced), text)


def test_each_look_gets_what_is_new() -> None:
    buffer = CommandOutputBuffer(lambda _: None)
    buffer.append("one €".encode()[:-1])
    first = buffer.read(final=False)
    buffer.append("€".encode()[-1:] + b" two\xff\xe2")
    second = buffer.read(final=True)

    assert ("one ", "€ two��") == (first.text, second.text)
