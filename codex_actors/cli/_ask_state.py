"""One question in front of a person: what a key does to it. Pure.

Invariants, held by ``tests/cli/test_ask_state.py``: nothing is approved before its end was shown,
nor by more than one key at a time, nor by an answer that the question does not offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from ..protocol import (
    Aborted,
    ApprovalDecision,
    ApprovalRequest,
    Approved,
    ApprovedForSession,
    ApprovedWithRule,
    Choice,
    Denied,
    GainPermissions,
    GrantedPermissions,
)

Key: TypeAlias = str
"""One printable character, or a name of several letters: ``enter``, ``backspace``, ``down``."""

ANSWERS: Final[dict[Key, Choice]] = {
    "y": "approve",
    "s": "approve_for_session",
    "r": "approve_with_rule",
    "n": "deny",
    "a": "abort",
}
LONGEST_REASON: Final = 1000
"""Characters that an agent can be told with a no."""

_NO_TO_BE_SEEN: Final = ("deny", "abort")
"""Answers for which nobody has to have read anything."""


@final
@attrs.frozen(kw_only=True)
class Asking:
    """How far one is with a question."""

    request: ApprovalRequest
    number: int = 1
    """Which one it is of those that are asked in a row."""
    total: int = 1
    mode: Literal["wait", "answer", "help", "reason"] = "wait"
    """``wait``: no key is heeded yet."""
    top: int = 0
    """First row that is shown."""
    seen: bool = False
    """Whether its last row was shown."""
    reason: str = ""
    """Typed so far."""
    note: str = ""
    """What was wrong with the last key."""


@final
@attrs.frozen(kw_only=True)
class Page:
    """What is on the screen of a question."""

    first: int
    """Number of the first row, from 0."""
    size: int
    """Rows there is room for."""
    total: int

    @property
    def last(self) -> int:
        """Number of the first row with which the last one is shown, too."""
        return max(self.total - self.size, 0)

    @property
    def at_end(self) -> bool:
        return self.first >= self.last


def offered(request: ApprovalRequest) -> dict[Key, Choice]:
    """Return the keys that answer a question. One can always say no, and end the turn."""
    choices = {*request.choices, *_NO_TO_BE_SEEN}
    if request.rule is None:
        choices.discard("approve_with_rule")
    return {key: choice for key, choice in ANSWERS.items() if choice in choices}


def press(asking: Asking, keys: Sequence[Key], page: Page) -> Asking | ApprovalDecision:
    """Return where the keys lead that came together: further, or to an answer.

    Args:
        asking: How far one was.
        keys: What was typed at once; more than one key is a paste, or somebody leaning on one.
        page: What was on the screen then.
    """
    asking = attrs.evolve(asking, note="", seen=asking.seen or page.at_end)
    match asking.mode:
        case "wait":
            return asking
        case "help":
            return attrs.evolve(asking, mode="answer")
        case "reason":
            return _type(asking, keys)
        case "answer":
            return _answer(asking, keys, page)


def _answer(asking: Asking, keys: Sequence[Key], page: Page) -> Asking | ApprovalDecision:
    if all(key in _MOVES for key in keys):
        return _move(asking, keys, page)
    if len(keys) > 1:
        return attrs.evolve(asking, note="that was more than one key: nothing is answered")
    key = keys[0].lower() if len(keys[0]) == 1 else keys[0]
    if key == "?":
        return attrs.evolve(asking, mode="help")
    if key == "eof":
        return Denied()
    choice = offered(asking.request).get(key)
    if choice is None:
        return attrs.evolve(asking, note=f"{_name(key)} is no answer here")
    if not asking.seen and choice not in _NO_TO_BE_SEEN:
        return attrs.evolve(asking, note="look at all of it first: space goes on, G to its end")
    return attrs.evolve(asking, mode="reason") if choice == "deny" else decide(asking, choice)


def decide(asking: Asking, choice: Choice) -> ApprovalDecision:
    """Return the decision that a choice stands for."""
    action, rule = asking.request.action, asking.request.rule
    match choice:
        case "approve" if isinstance(action, GainPermissions):
            return GrantedPermissions(action.extra, "turn")
        case "approve_for_session" if isinstance(action, GainPermissions):
            return GrantedPermissions(action.extra, "session")
        case "approve":
            return Approved()
        case "approve_for_session":
            return ApprovedForSession()
        case "approve_with_rule":
            assert rule is not None
            return ApprovedWithRule(rule)
        case "deny":
            return deny(asking.reason)
        case "abort":
            return Aborted()


def deny(reason: str) -> Denied:
    """Return a no, with what a person says to it."""
    return Denied(reason.strip()) if reason.strip() else Denied()


def _type(asking: Asking, keys: Sequence[Key]) -> Asking | ApprovalDecision:
    # A pasted line break is a blank: only a key by itself ends the reason.
    match tuple(keys):
        case ("enter",):
            return deny(asking.reason)
        case ("eof",):
            return Denied()
        case ("escape",):
            return attrs.evolve(asking, mode="answer", reason="")
        case _:
            return attrs.evolve(asking, reason=_typed(asking.reason, keys)[:LONGEST_REASON])


def _typed(text: str, keys: Sequence[Key]) -> str:
    for key in keys:
        match key:
            case "backspace":
                text = text[:-1]
            case "kill":
                text = ""
            case "enter" | "tab":
                text += " "
            case str() if len(key) == 1:
                text += key
    return text


_MOVES: Final = {
    " ": "page down",
    "page down": "page down",
    "b": "page up",
    "page up": "page up",
    "down": "down",
    "enter": "down",
    "up": "up",
    "g": "home",
    "home": "home",
    "G": "end",
    "end": "end",
}


def _move(asking: Asking, keys: Sequence[Key], page: Page) -> Asking:
    top = page.first
    for key in keys:
        top += {
            "page down": page.size,
            "page up": -page.size,
            "down": 1,
            "up": -1,
            "home": -page.total,
            "end": page.total,
        }[_MOVES[key]]
        top = min(max(top, 0), page.last)
    return attrs.evolve(asking, top=top)


def _name(key: Key) -> str:
    return repr(key) if len(key) == 1 else key
