from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from codex_actors.core._delivery import (
    decide_mail,
    decide_steer,
    is_final_answer,
    lets_mail_in,
)
from codex_actors.protocol import (
    InputText,
    Item,
    Message,
    OtherItem,
    OutputText,
    Reasoning,
    Refused,
    ToolCall,
    ToolOutput,
)
from codex_actors.testing._strategies import items

Decide = Callable[..., Refused | None]
WILLING: dict[str, Any] = {
    "active_turn_id": "t1",
    "expected_turn_id": None,
    "stopping": False,
    "empty": False,
}


def says(text: str, phase: str | None = None, role: str = "assistant") -> Message:
    return Message(role=role, content=(OutputText(text),), phase=phase)


@pytest.mark.parametrize("expected", [None, "t1"])
def test_a_running_turn_takes_input(expected: str | None) -> None:
    assert decide_steer(**{**WILLING, "expected_turn_id": expected}) is None


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        (
            {"active_turn_id": None},
            Refused("no_active_turn", "there is no running turn to steer; start one instead"),
        ),
        (
            {"expected_turn_id": "t0"},
            Refused(
                "turn_mismatch",
                "the running turn is 't1', not 't0'; read its events, then steer again with its id",
            ),
        ),
        ({"stopping": True}, Refused("not_steerable", "turn 't1' is being interrupted")),
        ({"empty": True}, Refused("empty_input", "the input is empty; say something")),
    ],
)
def test_steering_is_refused(changes: dict[str, Any], refused: Refused) -> None:
    assert refused == decide_steer(**{**WILLING, **changes})


def check_order(decide: Decide) -> None:
    """Of several reasons the first is told, in the order that programs for Codex know."""
    wrong: dict[str, Any] = {
        "active_turn_id": None,
        "expected_turn_id": "t0",
        "stopping": True,
        "empty": True,
    }
    mended = {"active_turn_id": "t1", "expected_turn_id": "t1", "stopping": False, "empty": False}
    reasons = []
    for name, value in mended.items():
        refused = decide(**wrong)
        assert refused is not None
        reasons.append(refused.reason)
        wrong[name] = value

    assert ["no_active_turn", "turn_mismatch", "not_steerable", "empty_input"] == reasons
    assert decide(**wrong) is None


def test_of_several_reasons_the_first_is_told() -> None:
    check_order(decide_steer)


def looks_at_the_input_first(**given: Any) -> Refused | None:
    return Refused("empty_input", "") if given["empty"] else decide_steer(**given)


def takes_any_turn(**given: Any) -> Refused | None:
    return decide_steer(**{**given, "expected_turn_id": None})


def steers_what_is_being_stopped(**given: Any) -> Refused | None:
    return decide_steer(**{**given, "stopping": False})


@pytest.mark.parametrize(
    "bug", [looks_at_the_input_first, takes_any_turn, steers_what_is_being_stopped]
)
def test_planted_bugs_are_found(bug: Decide) -> None:
    with pytest.raises(AssertionError):
        check_order(bug)


@pytest.mark.parametrize(
    ("item", "final", "lets_in"),
    [
        (says("done"), True, False),
        (says("done", "final_answer"), True, False),
        (says("looking", "commentary"), False, True),
        (says("", "commentary"), False, True),
        (says(""), False, False),
        (says(" \n"), False, False),
        (says("done", role="user"), False, False),
        (says("hm", "commentary", role="user"), False, False),
        (Message(role="assistant", content=(InputText("done"),)), True, False),
        (Message(role="assistant", content=()), False, False),
        (Reasoning(summary=("hm",)), False, True),
        (ToolCall(call_id="c", name="tool", arguments="{}"), False, False),
        (ToolOutput(call_id="c", output="done"), False, False),
        (OtherItem("web_search_call", {}), False, False),
    ],
)
def test_what_an_item_means_for_mail(item: Item, final: bool, lets_in: bool) -> None:
    assert (final, lets_in) == (is_final_answer(item), lets_mail_in(item))


@given(items())
def test_a_final_answer_lets_no_mail_in(item: Item) -> None:
    assert not (is_final_answer(item) and lets_mail_in(item))


@pytest.mark.parametrize(
    ("running", "answered", "expected"),
    [
        (True, False, "this_turn"),
        (True, True, "next_turn"),
        (False, False, "next_turn"),
        (False, True, "next_turn"),
    ],
)
def test_decide_mail(running: bool, answered: bool, expected: str) -> None:
    assert expected == decide_mail(running=running, final_answer_given=answered)
