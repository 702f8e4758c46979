from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import HEADROOM, limit_output
from codex_actors.protocol import InputImage, InputText, ToolOutput, TruncationPolicy

PICTURE = InputImage("data:image/png;base64,")
parts = st.lists(
    st.one_of(st.builds(InputText, st.text(max_size=60)), st.just(PICTURE)), max_size=6
).map(tuple)
policies = st.builds(
    TruncationPolicy, st.sampled_from(["bytes", "tokens"]), st.integers(min_value=0, max_value=60)
)


def output(value: str | tuple[InputText | InputImage, ...]) -> ToolOutput:
    return ToolOutput(call_id="c", output=value)


@given(parts, policies)
def test_pictures_stay_and_texts_keep_their_order(
    value: tuple[InputText | InputImage, ...], policy: TruncationPolicy
) -> None:
    limited = limit_output(output(value), policy).output
    assert isinstance(limited, tuple)

    assert value.count(PICTURE) == limited.count(PICTURE)
    room = int(policy.limit * HEADROOM) * (1 if policy.mode == "bytes" else 4)
    if sum(len(p.text.encode()) for p in value if isinstance(p, InputText)) <= room:
        assert value == limited


def test_a_text_that_is_too_long_loses_its_middle() -> None:
    limited = limit_output(output("a" * 50 + "b" * 50), TruncationPolicy("bytes", 10))

    assert output("aaaaaa…88 chars truncated…bbbbbb") == limited


def test_a_text_that_fits_is_not_touched() -> None:
    short = output("a" * 12)

    assert limit_output(short, TruncationPolicy("bytes", 10)) is short


def test_texts_beyond_the_limit_are_counted() -> None:
    value = (InputText("a" * 10), PICTURE, InputText("b" * 10), InputText("c"), InputText("d"))

    assert output(
        (
            InputText("a" * 10),
            PICTURE,
            InputText("b…8 chars truncated…b"),
            InputText("[omitted 2 text items ...]"),
        )
    ) == limit_output(output(value), TruncationPolicy("bytes", 10))
