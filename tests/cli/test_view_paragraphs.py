from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._view_paragraphs import cut


@pytest.mark.parametrize(
    ("whole", "rest"),
    [
        ("", ""),
        ("", "a"),
        ("", "a\n\n"),
        ("a\n\n", "b"),
        ("a\n\nb\n\n", "c\n\n"),
        ("", "a\n\n- b"),
        ("", "a\n\n1. b"),
        ("", "a\n\n  b"),
        ("", "a\n\n> b"),
        ("", "a\n\n| b"),
        ("", "```\na\n\nb\n"),
        ("```\na\n\nb\n```\n\n", "c"),
        ("", "```\na\n~~~\n\nb"),
        ("", "~~~\na\n```\n\nb"),
        ("a\n\n", "```\nb\n\nc"),
        ("- a\n\n  b\n\n", "c"),
    ],
)
def test_cuts(whole: str, rest: str) -> None:
    assert (whole, rest) == cut(whole + rest)


@given(st.text(st.sampled_from("a\n`-~ ")))
def test_nothing_is_lost(text: str) -> None:
    assert text == "".join(cut(text))


@given(st.text(st.sampled_from("a\n`-~ ")), st.text(st.sampled_from("a\n`-~ ")))
def test_what_was_cut_off_stays_so(text: str, more: str) -> None:
    assert cut(text + more)[0].startswith(cut(text)[0])
