"""Answers that make no sense are refused where they are made, in the words of whoever made them."""

from __future__ import annotations

from typing import Any

import pytest

from codex_actors.protocol import (
    ApprovedWithRule,
    Denied,
    ExtraPermissions,
    GrantedPermissions,
    TimedOut,
)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ApprovedWithRule, "make"),
        (ApprovedWithRule, ["make"]),
        (ApprovedWithRule, ("make", 5)),
        (Denied, b"no"),
        (GrantedPermissions, {}),
        (TimedOut, "10"),
    ],
)
def test_what_is_no_answer(kind: Any, value: object) -> None:
    with pytest.raises(TypeError):
        kind(value)


def test_what_is_one() -> None:
    assert ("make",) == ApprovedWithRule(("make",)).prefix
    assert "no" == Denied("no").reason
    assert 3 == TimedOut(3).seconds
    assert ExtraPermissions() == GrantedPermissions(ExtraPermissions()).extra
