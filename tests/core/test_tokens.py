from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core._tokens import IMAGE_BYTES, estimate_tokens, tokens_of_bytes


def encoded(item: dict[str, Any]) -> bytes:
    return json.dumps(item, separators=(",", ":")).encode()


def image(payload: str, detail: str | None = None) -> dict[str, Any]:
    part = {"type": "input_image", "image_url": f"data:image/png;base64,{payload}"}
    return {"type": "message", "content": [part | ({"detail": detail} if detail else {})]}


def png(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
    return base64.b64encode(header + bytes(5000)).decode()


@pytest.mark.parametrize(("count", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_tokens_of_bytes(count: int, tokens: int) -> None:
    assert tokens == tokens_of_bytes(count)


def test_an_image_counts_as_its_resized_copy() -> None:
    small = len(encoded(image("")))

    assert {tokens_of_bytes(small + IMAGE_BYTES)} == {
        estimate_tokens(encoded(image("A" * length))) for length in (4, 400, 4_000_000)
    }


@pytest.mark.parametrize(
    ("payload", "tokens"),
    [
        (png(64, 65), 6),
        (png(100_000, 100_000), 10_000),
        ("A" * 4000, tokens_of_bytes(IMAGE_BYTES)),
        ("AAA", tokens_of_bytes(IMAGE_BYTES)),
    ],
)
def test_an_original_image_counts_its_patches(payload: str, tokens: int) -> None:
    around = len(encoded(image("", "original")))

    actual = estimate_tokens(encoded(image(payload, "original")))

    assert tokens == actual - around // 4 or tokens == actual - tokens_of_bytes(around)


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        ({"type": "reasoning", "summary": [], "encrypted_content": "x" * 4000}, (3000 - 650) // 4 + 1),
        ({"type": "compaction", "encrypted_content": "x" * 4000}, (3000 - 650) // 4 + 1),
        ({"type": "reasoning", "summary": [], "encrypted_content": "x" * 40}, 0),
    ],
)  # fmt: skip
def test_encrypted_reasoning_counts_what_is_inside(item: dict[str, Any], tokens: int) -> None:
    assert tokens == estimate_tokens(encoded(item))


def test_reasoning_that_is_not_encrypted_counts_its_text() -> None:
    item = encoded({"type": "reasoning", "summary": ["x" * 100], "encrypted_content": None})

    assert tokens_of_bytes(len(item)) == estimate_tokens(item)


def test_an_encrypted_output_counts_nine_sixteenths() -> None:
    part = {"type": "encrypted_content", "encrypted_content": "x" * 1600}
    item = encoded({"type": "function_call_output", "output": [part]})

    assert tokens_of_bytes(len(item) - 700) == estimate_tokens(item)


@given(st.text())
def test_text_counts_its_bytes_whatever_it_says(text: str) -> None:
    quoting = (
        text
        + '"type":"reasoning","encrypted_content":"xxxx" "image_url":"data:image/png;base64,AAAA"'
    )
    item = encoded({"type": "message", "text": quoting})

    assert tokens_of_bytes(len(item)) == estimate_tokens(item)


@given(st.binary())
def test_anything_has_an_estimate(data: bytes) -> None:
    assert estimate_tokens(b'{"type":"reasoning","encrypted_content":"' + data + b'"}') >= 0
