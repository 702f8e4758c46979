"""The laws of restarting. Each is also run on wrong variants, which it has to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codex_actors.actors import (
    Decision,
    Plan,
    Restart,
    Restarting,
    RestartLimit,
    Strategy,
    decide,
    plan,
)
from codex_actors.actors._restart import MAX_DELAY, OnLimit, present_series


class Decide(Protocol):
    def __call__(
        self,
        restart: Restart,
        *,
        crashed: bool,
        stopping: bool,
        restarted_at: tuple[float, ...],
        now: float,
        limit: RestartLimit,
        on_limit: OnLimit = "escalate",
    ) -> Decision: ...


@attrs.frozen
class Life:
    """One incarnation of a child."""

    seconds: float
    crashed: bool = True
    progressed: bool = False


@attrs.frozen
class Start:
    at: float
    rested: bool
    """Whether the child had earned it: by a quiet window, or by progress."""


def live(
    lives: list[Life], limit: RestartLimit, *, decide: Decide, restart: Restart = Restart.PERMANENT
) -> list[Start]:
    """Run a child's lives as a supervisor does, and return its restarts."""
    now, restarted_at, starts = 0.0, tuple[float, ...](), list[Start]()
    for life in lives:
        now += life.seconds
        restarted_at = () if life.progressed else restarted_at
        decision = decide(
            restart,
            crashed=life.crashed,
            stopping=False,
            restarted_at=restarted_at,
            now=now,
            limit=limit,
        )
        if not isinstance(decision, Restarting):
            break
        series = present_series(restarted_at, now=now, limit=limit)
        now += decision.delay
        starts.append(Start(now, rested=life.progressed or life.seconds >= limit.within))
        restarted_at = (*series, now)
    return starts


LIMITS = st.builds(RestartLimit, max_restarts=st.integers(0, 4), within=st.floats(0.5, 8))
LIFE = st.builds(
    Life,
    st.just(0.0) | st.floats(0, 1) | st.floats(0, 30),
    crashed=st.booleans(),
    progressed=st.sampled_from([False, False, False, True]),
)
LIVES = st.lists(LIFE, min_size=4, max_size=12)
CASES: dict[str, Any] = {
    "crashed": st.booleans(),
    "restarted_at": st.lists(st.floats(0, 100), max_size=5).map(lambda times: (*sorted(times),)),
    "now": st.floats(100, 200),
    "limit": LIMITS,
    "on_limit": st.sampled_from(["escalate", "end"]),
}
LAW = settings(
    max_examples=200, report_multiple_bugs=False, database=None, deadline=None, derandomize=True
)
Law = Callable[[Decide], None]


def law_of_patience(decide: Decide) -> None:
    """At most ``max_restarts`` restarts without rest, and so in any window without it."""

    @LAW
    @given(LIVES, LIMITS)
    def law(lives: list[Life], limit: RestartLimit) -> None:
        tired = 0
        for start in live(lives, limit, decide=decide):
            tired = 1 if start.rested else tired + 1
            assert tired <= max(limit.max_restarts, 1)

    law()


def law_of_forgiveness(decide: Decide) -> None:
    """A child that runs for a quiet window, or makes progress, is always restarted."""

    @LAW
    @given(LIVES, st.integers(1, 4))
    def law(lives: list[Life], max_restarts: int) -> None:
        limit = RestartLimit(max_restarts=max_restarts, within=5)
        rested = [
            attrs.evolve(life, seconds=life.seconds if life.progressed else life.seconds + 6)
            for life in lives
        ]
        assert len(lives) == len(live(rested, limit, decide=decide))

    law()


def law_of_temporary(decide: Decide) -> None:
    @LAW
    @given(st.booleans(), st.fixed_dictionaries(CASES))
    def law(stopping: bool, case: dict[str, Any]) -> None:
        assert decide(Restart.TEMPORARY, stopping=stopping, **case) == "stop"

    law()


def law_of_stopping(decide: Decide) -> None:
    @LAW
    @given(st.sampled_from(Restart), st.fixed_dictionaries(CASES))
    def law(restart: Restart, case: dict[str, Any]) -> None:
        assert decide(restart, stopping=True, **case) == "stop"

    law()


def law_of_transient(decide: Decide) -> None:
    @LAW
    @given(st.fixed_dictionaries(CASES))
    def law(case: dict[str, Any]) -> None:
        stops = decide(Restart.TRANSIENT, stopping=False, **case) == "stop"
        assert stops is not case["crashed"]

    law()


LAWS: list[Law] = [
    law_of_patience,
    law_of_forgiveness,
    law_of_temporary,
    law_of_stopping,
    law_of_transient,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_decide_keeps(law: Law) -> None:
    law(decide)


def one_too_many(restart: Restart, *, limit: RestartLimit, **case: Any) -> Decision:
    return decide(restart, limit=attrs.evolve(limit, max_restarts=limit.max_restarts + 1), **case)


def counts_the_back_off_as_rest(
    restart: Restart,
    *,
    restarted_at: tuple[float, ...],
    now: float,
    limit: RestartLimit,
    **case: Any,
) -> Decision:
    recent = tuple(time for time in restarted_at if now - time < limit.within)
    return decide(restart, restarted_at=recent, now=now, limit=limit, **case)


def never_forgives(
    restart: Restart, *, limit: RestartLimit, restarted_at: tuple[float, ...], **case: Any
) -> Decision:
    forever = attrs.evolve(limit, within=float("inf"))
    return decide(restart, limit=forever, restarted_at=restarted_at, **case)


def revives_temporaries(restart: Restart, **case: Any) -> Decision:
    return decide(Restart.TRANSIENT if restart is Restart.TEMPORARY else restart, **case)


def revives_the_stopping(restart: Restart, *, stopping: bool, **case: Any) -> Decision:
    return decide(restart, stopping=False, **case)


def repeats_what_is_done(restart: Restart, *, crashed: bool, **case: Any) -> Decision:
    return decide(restart, crashed=True, **case)


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (law_of_patience, one_too_many),
        (law_of_patience, counts_the_back_off_as_rest),
        (law_of_forgiveness, never_forgives),
        (law_of_temporary, revives_temporaries),
        (law_of_stopping, revives_the_stopping),
        (law_of_transient, repeats_what_is_done),
    ],
)
def test_laws_of_decide_have_teeth(law: Law, broken: Decide) -> None:
    with pytest.raises(AssertionError):
        law(broken)


@given(st.integers(0, 2000))
@example(2000)
def test_delays_double_up_to_a_minute(restarts: int) -> None:
    times = (100.0,) * restarts
    limit = RestartLimit(max_restarts=3000)

    decision = decide(
        Restart.PERMANENT, crashed=True, stopping=False, restarted_at=times, now=100, limit=limit
    )

    assert Restarting(min(2.0 ** min(restarts, 10), MAX_DELAY)) == decision


@pytest.mark.parametrize("on_limit", ["escalate", "end"])
def test_the_spec_says_what_too_much_means(on_limit: OnLimit) -> None:
    decision = decide(
        Restart.TRANSIENT,
        crashed=True,
        stopping=False,
        restarted_at=(1.0, 3.0, 7.0),
        now=7.0,
        limit=RestartLimit(),
        on_limit=on_limit,
    )

    assert on_limit == decision


MakePlan = Callable[[Strategy, str, Mapping[str, Restart]], Plan]


def law_of_plans(plan: MakePlan) -> None:
    @LAW
    @given(
        st.sampled_from(Strategy),
        st.dictionaries(st.text("abcdef", max_size=2), st.sampled_from(Restart), min_size=1),
        st.data(),
    )
    def law(strategy: Strategy, children: dict[str, Restart], data: st.DataObject) -> None:
        names = list(children)
        child = data.draw(st.sampled_from(names))
        made = plan(strategy, child, children)
        reach = {
            Strategy.ONE_FOR_ONE: {child},
            Strategy.ONE_FOR_ALL: set(names),
            Strategy.REST_FOR_ONE: set(names[names.index(child) :]),
        }[strategy]
        temporary = {name for name in names if children[name] is Restart.TEMPORARY} - {child}

        assert reach - {child} == set(made.stop)
        assert reach - temporary == set(made.start)
        assert sorted(made.stop, key=names.index, reverse=True) == list(made.stop)
        assert sorted(made.start, key=names.index) == list(made.start)

    law()


def test_plan_keeps_its_law() -> None:
    law_of_plans(plan)


def stops_the_oldest_first(strategy: Strategy, child: str, all_: Mapping[str, Restart]) -> Plan:
    made = plan(strategy, child, all_)
    return attrs.evolve(made, stop=made.stop[::-1])


def starts_the_youngest_first(strategy: Strategy, child: str, all_: Mapping[str, Restart]) -> Plan:
    made = plan(strategy, child, all_)
    return attrs.evolve(made, start=made.start[::-1])


def starts_temporaries(strategy: Strategy, child: str, all_: Mapping[str, Restart]) -> Plan:
    return plan(strategy, child, dict.fromkeys(all_, Restart.PERMANENT))


def spares_the_rest(strategy: Strategy, child: str, all_: Mapping[str, Restart]) -> Plan:
    return plan(Strategy.ONE_FOR_ONE, child, all_)


@pytest.mark.parametrize(
    "broken",
    [stops_the_oldest_first, starts_the_youngest_first, starts_temporaries, spares_the_rest],
)
def test_law_of_plans_has_teeth(broken: MakePlan) -> None:
    with pytest.raises(AssertionError):
        law_of_plans(broken)
