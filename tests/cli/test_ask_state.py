from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._ask_state import ANSWERS, Asking, Page, offered, press
from codex_actors.protocol import (
    Aborted,
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    Denied,
    ExtraPermissions,
    GainPermissions,
    GrantedPermissions,
)

from .asked import question, questions

ALL = Page(first=0, size=20, total=10)
TOP = Page(first=0, size=10, total=95)
RULED = question(
    rule=("make",),
    choices=("approve", "approve_for_session", "approve_with_rule", "deny", "abort"),
)
EXTRA = ExtraPermissions(network=True)


def pressed(
    *chords: str | tuple[str, ...], asking: Asking | None = None, page: Page = ALL
) -> object:
    """What several keys lead to, one after the other; those in a tuple come together."""
    now: Asking | ApprovalDecision = asking or Asking(request=RULED, mode="answer")
    for chord in chords:
        assert isinstance(now, Asking)
        now = press(now, (chord,) if isinstance(chord, str) else chord, page)
    return now


@pytest.mark.parametrize(
    ("keys", "decision"),
    [
        (["y"], Approved()),
        (["Y"], Approved()),
        (["s"], ApprovedForSession()),
        (["r"], ApprovedWithRule(("make",))),
        (["a"], Aborted()),
        (["n", "enter"], Denied()),
        (["n", "eof"], Denied()),
        (["n", "t", "o", "x", "backspace", "o", "enter"], Denied("too")),
        (["n", "x", "kill", ("a", "enter", "b"), "enter"], Denied("a b")),
        (["n", " ", "enter"], Denied()),
        (["n", "x", "escape", "y"], Approved()),
        (["eof"], Denied()),
        (["?", "y", "y"], Approved()),
    ],
)
def test_keys_that_answer(keys: list[str], decision: ApprovalDecision) -> None:
    assert decision == pressed(*keys)


def test_permissions_are_given_for_the_turn_or_for_the_session() -> None:
    asking = Asking(request=question(GainPermissions(extra=EXTRA, cwd="/w")), mode="answer")

    assert GrantedPermissions(EXTRA, "turn") == pressed("y", asking=asking)
    assert GrantedPermissions(EXTRA, "session") == pressed("s", asking=asking)


def test_a_key_that_means_nothing_is_said_to() -> None:
    after = pressed("x")

    assert (
        attrs.evolve(Asking(request=RULED, mode="answer", seen=True), note="'x' is no answer here")
        == after
    )
    assert Approved() == pressed("x", "y")


def test_what_is_pasted_is_no_answer() -> None:
    after = pressed(("y", "enter"))

    assert isinstance(after, Asking)
    assert "that was more than one key: nothing is answered" == after.note


def test_nothing_is_approved_before_its_end_was_shown() -> None:
    after = pressed("y", page=TOP)
    assert isinstance(after, Asking)
    assert after.note.startswith("look at all of it first")

    assert Denied() == pressed("n", "enter", page=TOP)
    assert Aborted() == pressed("a", page=TOP)
    ended = pressed("b", page=attrs.evolve(TOP, first=85))
    assert isinstance(ended, Asking)
    assert Approved() == pressed("y", asking=ended, page=TOP)


@pytest.mark.parametrize(
    ("keys", "top"),
    [
        ([" "], 10),
        (["page down"], 10),
        (["down"], 1),
        (["enter"], 1),
        (["end"], 85),
        (["G"], 85),
        ([("down", "down", "up")], 1),
        ([(" ",) * 20], 85),
        (["b"], 0),
    ],
)
def test_keys_that_move(keys: list[str], top: int) -> None:
    after = pressed(*keys, page=TOP)

    assert isinstance(after, Asking)
    assert top == after.top


def test_no_key_is_heeded_while_nobody_can_have_read_it() -> None:
    waiting = Asking(request=RULED)

    assert attrs.evolve(waiting, seen=True) == pressed("y", asking=waiting)


KEYS = st.sampled_from([*ANSWERS, *"Yx?Gb ", "enter", "eof", "escape", "down", "end", "backspace"])


@given(
    questions(), st.lists(st.lists(KEYS, min_size=1, max_size=3), max_size=12), st.integers(1, 40)
)
def test_only_one_seen_key_approves(
    request: ApprovalRequest, chords: list[list[str]], total: int
) -> None:
    now: Asking | ApprovalDecision = Asking(request=request, mode="answer")
    seen, last = False, [""]
    for keys in chords:
        if not isinstance(now, Asking):
            break
        page = Page(first=min(now.top, max(total - 10, 0)), size=10, total=total)
        seen, last = seen or page.at_end, keys
        now = press(now, keys, page)

    if not isinstance(now, Asking | Denied | Aborted):
        assert seen
        assert 1 == len(last)
        assert ANSWERS[last[0].lower()] in request.choices
    if isinstance(now, ApprovedWithRule):
        assert now.prefix == request.rule


@given(questions())
def test_one_can_always_say_no(request: ApprovalRequest) -> None:
    assert {"n", "a"} <= set(offered(request))
