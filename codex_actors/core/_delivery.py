"""Input for an agent that is busy: this turn, the next one, or nowhere.

* A user's input joins the running turn, unless it names another turn or asks for another
  output schema; a turn that is being stopped takes none.
* Mail of other agents joins the running turn until the model has given its final answer;
  after that it waits for the next turn. A tool call or a user's input opens the turn again.
* Mail that waits cuts a sampling short after a reasoning item or a commentary, so that the
  model hears of it before it goes on.

Held by tests/core/test_delivery.py.
"""

from __future__ import annotations

from typing import Literal

from ..protocol import Item, Message, Reasoning, Refused


def decide_steer(
    *,
    active_turn_id: str | None,
    expected_turn_id: str | None,
    stopping: bool,
    empty: bool,
) -> Refused | None:
    """Return why input may not join the running turn; None if it may."""
    if active_turn_id is None:
        return Refused("no_active_turn", "there is no running turn to steer; start one instead")
    if expected_turn_id is not None and expected_turn_id != active_turn_id:
        return Refused(
            "turn_mismatch",
            f"the running turn is {active_turn_id!r}, not {expected_turn_id!r}; read its events,"
            " then steer again with its id",
        )
    if stopping:
        return Refused("not_steerable", f"turn {active_turn_id!r} is being interrupted")
    if empty:
        return Refused("empty_input", "the input is empty; say something")
    return None


def is_final_answer(item: Item) -> bool:
    """Whether the model said this as its last word: an assistant's message, no commentary."""
    return (
        isinstance(item, Message)
        and item.role == "assistant"
        and item.phase != "commentary"
        and bool(item.text.strip())
    )


def lets_mail_in(item: Item) -> bool:
    """Whether a sampling may be cut short after ``item``, because mail waits."""
    if isinstance(item, Reasoning):
        return True
    return isinstance(item, Message) and item.role == "assistant" and item.phase == "commentary"


def decide_mail(*, running: bool, final_answer_given: bool) -> Literal["this_turn", "next_turn"]:
    """Return which turn a letter belongs to."""
    return "this_turn" if running and not final_answer_given else "next_turn"
