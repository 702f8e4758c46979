from __future__ import annotations

from typing import Literal, TypeAlias

import attrs
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._ask_frame import Frame, Sheet, lay_out
from codex_actors.cli._ask_state import Asking, press
from codex_actors.cli._ask_words import rows_of
from codex_actors.protocol import ApprovalRequest, ExtraPermissions, GainPermissions, RunCommand

from .asked import question, questions

LONG = question(
    RunCommand(
        command=("sh", "-c", "\n".join(f"echo {n}" for n in range(50))), cwd="/w", environment="e"
    )
)


def spell(frame: Frame) -> list[str]:
    return ["".join(text for text, _ in row) for row in frame.rows]


def drawn(asking: Asking, *, width: int = 80, height: int = 24, now: float = 0.0) -> list[str]:
    sheet = Sheet(asking.request)
    return spell(lay_out(asking, sheet, width=width, height=height, now=now))


def test_keys_stand_below_the_question() -> None:
    asking = Asking(
        request=question(asked_at=100.0, seconds=60.0), mode="answer", number=2, total=3
    )
    rows = drawn(asking, now=118.0)

    assert [
        "  │ make test",
        "question 2 of 3; without an answer it is a no in 42 s",
        "y yes, once   s yes, and to the same again   n no   a no, and end the turn",
        "? help",
    ] == rows[-4:]


def test_keys_are_offered_when_they_count() -> None:
    waiting = Asking(request=question())
    rows = drawn(waiting)

    assert ["  │ make test", "", "", ""] == rows[-4:]
    assert len(rows) == len(drawn(attrs.evolve(waiting, mode="answer")))


def test_other_words_for_permissions() -> None:
    action = GainPermissions(extra=ExtraPermissions(network=True), cwd="/w")
    asking = Asking(request=question(action), mode="answer")

    assert drawn(asking)[-2].startswith("y yes, for this turn   s yes, for this session")


def test_a_long_one_is_shown_page_by_page_to_its_end() -> None:
    sheet, asking = Sheet(LONG), Asking(request=LONG, mode="answer")
    first = lay_out(asking, sheet, width=80, height=10, now=0.0)
    assert "rows 1 to 6 of 55: space goes on, G to the end" == spell(first)[6]
    assert 10 == len(first.rows)

    after = press(asking, ("G",), first.page)
    assert isinstance(after, Asking)
    last = lay_out(after, sheet, width=80, height=10, now=0.0)

    assert "  │ echo 49" == spell(last)[5]
    assert "rows 50 to 55 of 55: that is the end; b goes back" == spell(last)[6]
    assert last.page.at_end


def test_help_says_what_each_key_does() -> None:
    rows = drawn(Asking(request=question(), mode="help"))

    assert "n  No. You may say why; the agent is told, and goes on." in rows
    assert not any(row.startswith("r  ") for row in rows)


def test_what_is_typed_is_the_end_of_the_last_row() -> None:
    rows = drawn(Asking(request=question(), mode="reason", reason="no\x1btime"))

    assert "why not? the agent is told (enter: no; esc: back): no<U+001B>time" == rows[-1]


def test_a_note_is_above_the_keys() -> None:
    rows = drawn(Asking(request=question(), mode="answer", note="'\u202e' is no answer here"))

    assert "'<U+202E>' is no answer here" == rows[-4]


Mode: TypeAlias = Literal["wait", "answer", "help", "reason"]
MODES: st.SearchStrategy[Mode] = st.sampled_from(["wait", "answer", "help", "reason"])


@given(questions(), MODES, st.text(max_size=30), st.integers(20, 100), st.integers(8, 60))
def test_frames_fit_and_show_the_end_when_they_say_so(
    request: ApprovalRequest, mode: Mode, typed: str, width: int, height: int
) -> None:
    asking = Asking(request=request, mode="answer", note=typed, reason=typed, top=10**6)
    asking = attrs.evolve(asking, mode=mode)
    frame = lay_out(asking, Sheet(request), width=width, height=height, now=0.0)
    rows = spell(frame)

    assert all(row.isprintable() and len(row) <= width for row in rows)
    assert frame.page.at_end
    assert rows_of(request, width)[-1] in frame.rows


@given(questions(), st.integers(20, 100), st.integers(12, 60), st.integers(0, 300))
def test_space_leads_past_every_row(
    request: ApprovalRequest, width: int, height: int, steps: int
) -> None:
    sheet, asking = Sheet(request), Asking(request=request, mode="answer")
    seen: list[object] = []
    for _ in range(10_000):
        frame = lay_out(asking, sheet, width=width, height=height, now=0.0)
        seen += frame.rows
        if frame.page.at_end:
            break
        after = press(asking, (" ",), frame.page)
        assert isinstance(after, Asking)
        asking = after

    assert all(row in seen for row in sheet.rows(width))
