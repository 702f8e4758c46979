from __future__ import annotations

import math
from typing import Any

import pytest

from codex_actors.protocol import Capacity, Limits, Spent


def test_nothing_is_limited_unless_somebody_says_so() -> None:
    limits, capacity = Limits(), Capacity()

    assert {None} == {
        limits.depth,
        limits.children,
        limits.agents,
        limits.turns,
        limits.tokens,
        limits.seconds,
        capacity.running,
        capacity.loaded,
    }
    assert Spent() == Spent(turns=0, tokens=0, seconds=0.0)


def test_an_agent_may_be_kept_from_having_children() -> None:
    assert Limits(depth=0).depth == 0


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [
        (Limits, "depth", -1),
        (Limits, "children", 0),
        (Limits, "agents", 0),
        (Limits, "turns", 0),
        (Limits, "tokens", -5),
        (Limits, "seconds", 0.0),
        (Limits, "seconds", math.nan),
        (Limits, "seconds", math.inf),
        (Capacity, "running", 0),
        (Capacity, "loaded", 0),
    ],
)
def test_what_is_no_limit_is_refused(cls: Any, field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        cls(**{field: value})
