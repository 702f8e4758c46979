from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.tools._pruning import SAFE_SESSIONS, choose_victim


@final
@attrs.frozen
class Entry:
    number: int
    busy: bool
    ended: bool


entries = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=70).map(
    lambda flags: [Entry(i, busy, ended) for i, (busy, ended) in enumerate(flags)]
)


def holds(choose: Callable[[Sequence[Entry]], Entry | None], sessions: list[Entry]) -> bool:
    """The victim is old and idle; nobody better was passed over."""
    victim = choose(sessions)
    old = sessions[: max(0, len(sessions) - SAFE_SESSIONS)]
    idle = [entry for entry in old if not entry.busy]
    if victim is None:
        return not idle
    older = [entry for entry in idle if entry.number < victim.number]
    others_ended = any(entry.ended for entry in idle)
    if victim.ended:
        return victim in idle and not any(entry.ended for entry in older)
    return victim in idle and not older and not others_ended


@given(entries)
def test_the_victim_is_the_least_loss(sessions: list[Entry]) -> None:
    assert holds(choose_victim, sessions)


def oldest(sessions: Sequence[Entry]) -> Entry | None:
    return sessions[0] if sessions else None


def newest_idle(sessions: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in reversed(sessions) if not entry.busy), None)


def nobody(sessions: Sequence[Entry]) -> Entry | None:
    return None


@pytest.mark.parametrize("wrong", [oldest, newest_idle, nobody])
def test_the_law_finds_wrong_choices(
    wrong: Callable[[Sequence[Entry]], Entry | None],
) -> None:
    sessions = [Entry(i, busy=False, ended=i == 3) for i in range(64)]

    assert not holds(wrong, sessions)
