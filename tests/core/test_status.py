from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from codex_actors.core._status import is_final, next_status
from codex_actors.protocol import (
    AgentStatus,
    Completed,
    Errored,
    ErrorInfo,
    ErrorOccurred,
    EventMsg,
    ShutdownCompleted,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
    WarningRaised,
)
from codex_actors.testing._strategies import events, statuses

Next = Callable[[AgentStatus, EventMsg], AgentStatus]
START = TurnStarted(turn_id="t")
REFUSED = ErrorOccurred("no", ErrorInfo(kind="active_turn_not_steerable"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (START, "running"),
        (TurnCompleted(turn_id="t", last_agent_message="done"), Completed("done")),
        (TurnCompleted(turn_id="t", last_agent_message=None), Completed(None)),
        (
            TurnCompleted(turn_id="t", last_agent_message="hm", error=ErrorOccurred("full")),
            Errored("full"),
        ),
        (TurnAborted(turn_id="t", reason="interrupted"), "interrupted"),
        (TurnAborted(turn_id="t", reason="budget_limited"), "interrupted"),
        (TurnAborted(turn_id="t", reason="replaced"), Errored("replaced")),
        (TurnAborted(turn_id="t", reason="review_ended"), Errored("review_ended")),
        (ErrorOccurred("broken"), Errored("broken")),
        (ErrorOccurred("broken", ErrorInfo(kind="unauthorized")), Errored("broken")),
        (ShutdownCompleted(), "shutdown"),
    ],
)
def test_an_event_decides_whatever_was_before(event: EventMsg, expected: AgentStatus) -> None:
    before: list[AgentStatus] = ["pending_init", "running", "interrupted", "not_found"]
    for status in (*before, Completed("old"), Errored("old")):
        assert expected == next_status(status, event)


@pytest.mark.parametrize("event", [WarningRaised("hm"), REFUSED])
@pytest.mark.parametrize("status", ["running", Completed("done"), "shutdown"])
def test_some_events_decide_nothing(status: AgentStatus, event: EventMsg) -> None:
    assert status == next_status(status, event)


def test_a_refused_rollback_is_no_failure_of_the_agent() -> None:
    refused = ErrorOccurred("no", ErrorInfo(kind="thread_rollback_failed"))

    assert next_status(Completed("done"), refused) == Completed("done")


@pytest.mark.parametrize(
    ("status", "final"),
    [
        ("pending_init", False),
        ("running", False),
        ("interrupted", False),
        (Completed(None), True),
        (Errored("broken"), True),
        ("shutdown", True),
        ("not_found", True),
    ],
)
def test_is_final(status: AgentStatus, final: bool) -> None:
    assert final == is_final(status)


Case = tuple[AgentStatus, AgentStatus, EventMsg]
CASES = st.tuples(statuses(), statuses(), events())


def check_laws(decide: Next, case: Case) -> None:
    """A function of the event and the last status; only shutdown absorbs."""
    status, other, event = case
    after = decide(status, event)

    assert after == decide(status, event)
    if status == "shutdown":
        assert after == "shutdown"
        return
    assert decide(after, START) == ("shutdown" if after == "shutdown" else "running")
    if after != status and other != "shutdown":
        assert after == decide(other, event), "an event that decides, decides for all"
    assert (after == "shutdown") == isinstance(event, ShutdownCompleted)


@given(CASES)
def test_laws(case: Case) -> None:
    check_laws(next_status, case)


# --- planted bugs, to show that the laws have teeth ---


def completed_absorbs(status: AgentStatus, event: EventMsg) -> AgentStatus:
    return status if isinstance(status, Completed) else next_status(status, event)


def rises_from_the_dead(status: AgentStatus, event: EventMsg) -> AgentStatus:
    started = status == "shutdown" and isinstance(event, TurnStarted)
    return "running" if started else next_status(status, event)


def errors_shut_down(status: AgentStatus, event: EventMsg) -> AgentStatus:
    after = next_status(status, event)
    return "shutdown" if isinstance(after, Errored) and after != status else after


def errors_stick(status: AgentStatus, event: EventMsg) -> AgentStatus:
    ended = isinstance(status, Errored) and isinstance(event, TurnCompleted)
    return status if ended else next_status(status, event)


@pytest.mark.parametrize(
    "bug", [completed_absorbs, rises_from_the_dead, errors_shut_down, errors_stick]
)
def test_planted_bugs_are_found(bug: Next) -> None:
    def is_caught(case: Case) -> bool:
        try:
            check_laws(bug, case)
        except AssertionError:
            return True
        return False

    search = settings(
        max_examples=5000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        find(CASES, is_caught, settings=search)
    except NoSuchExample:
        pytest.fail(f"{bug.__name__} was not found")
