from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from codex_actors.core._retry import LONGEST_SERVER_DELAY, Retry, parse_retry_delay

JITTER = st.floats(0.9, 1.1)
DELAY = st.none() | st.floats(0, LONGEST_SERVER_DELAY)


def waits(retry: Retry, failures: list[tuple[float | None, float]]) -> list[float]:
    delays = []
    for failure_delay, jitter in failures:
        step = retry.after(failure_delay, jitter)
        if step is None:
            break
        delay, retry = step
        delays.append(delay)
    return delays


def test_waits_double() -> None:
    assert waits(Retry(3), [(None, 1.0)] * 9) == [0.2, 0.4, 0.8]


def test_waits_are_capped() -> None:
    assert waits(Retry(100), [(None, 1.0)] * 11)[-4:] == [25.6, 51.2, 60.0, 60.0]


def test_many_attempts_do_not_overflow() -> None:
    assert (60.0, Retry(9999, 5001)) == Retry(9999, 5000).after(None, 1.0)


def test_no_retries() -> None:
    assert Retry(0).after(1.0, 1.0) is None


def test_the_server_decides() -> None:
    assert waits(Retry(3), [(7.5, 1.1), (None, 1.0), (-1.0, 1.0)]) == [7.5, 0.4, 0.0]


@pytest.mark.parametrize("delay", [LONGEST_SERVER_DELAY + 1, float("inf"), float("nan")])
def test_a_server_that_asks_for_too_much_gets_no_retry(delay: float) -> None:
    assert Retry(3).after(delay, 1.0) is None


@pytest.mark.parametrize("jitter", [0.0, 0.89, 1.2, float("nan")])
def test_jitter_out_of_range(jitter: float) -> None:
    with pytest.raises(ValueError, match="jitter must be"):
        Retry(3).after(None, jitter)


@pytest.mark.parametrize(
    ("message", "delay"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("please try again in 28ms", 0.028),
        ("try again in 28.9 ms", 0.028),
        ("Try Again In 35 seconds", 35.0),
        ("try again in\t1 second", 1.0),
        ("try again in 3 minutes", None),
        ("try again in s", None),
        ("try again in ٣s", None),
        (f"try again in {'9' * 400}s", None),
        ("", None),
    ],
)
def test_parse_retry_delay(message: str, delay: float | None) -> None:
    assert delay == parse_retry_delay(message)


# ---- laws

Step = Callable[[Retry, float | None, float], "tuple[float, Retry] | None"]


def check_laws(step: Step, retries: int, failures: list[tuple[float | None, float]]) -> None:
    retry, total = Retry(retries), 0.0
    own = list[float]()
    for failure_delay, jitter in failures:
        outcome = step(retry, failure_delay, jitter)
        if outcome is None:
            assert retry.attempt == retries
            break
        delay, retry = outcome
        assert failure_delay is None or delay == failure_delay
        if failure_delay is None:
            assert delay <= retry.longest * 1.1
            own.append(delay / jitter)
        total += delay
    assert retry.attempt <= retries
    assert total <= retries * LONGEST_SERVER_DELAY
    assert own == sorted(own) or own == pytest.approx(sorted(own))


FAILURES = st.lists(st.tuples(DELAY, JITTER), max_size=30) | st.lists(
    st.tuples(st.none(), JITTER), min_size=15, max_size=30
)


@given(st.integers(0, 20), FAILURES)
def test_laws(retries: int, failures: list[tuple[float | None, float]]) -> None:
    check_laws(Retry.after, retries, failures)


def one_too_many(retry: Retry, delay: float | None, jitter: float) -> tuple[float, Retry] | None:
    return Retry(retry.max_retries + 1, retry.attempt).after(delay, jitter)


def impatient(retry: Retry, delay: float | None, jitter: float) -> tuple[float, Retry] | None:
    return retry.after(None if delay is None else min(delay, 60.0), jitter)


def uncapped(retry: Retry, delay: float | None, jitter: float) -> tuple[float, Retry] | None:
    step = Retry(retry.max_retries, retry.attempt, longest=1e9).after(delay, jitter)
    return step and (step[0], Retry(retry.max_retries, step[1].attempt))


@pytest.mark.parametrize("wrong", [one_too_many, impatient, uncapped])
def test_the_laws_have_teeth(wrong: Step) -> None:
    @settings(derandomize=True, phases=[Phase.generate])
    @given(st.integers(0, 20), FAILURES)
    def law(retries: int, failures: list[tuple[float | None, float]]) -> None:
        check_laws(wrong, retries, failures)

    with pytest.raises(AssertionError):
        law()
