"""Laws of the way that an action goes, over all cases and all that may happen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import (
    Accept,
    Ask,
    Attempt,
    Case,
    Course,
    Refuse,
    Situation,
    Verdict,
    case_of,
    on_answer,
    on_attempt,
    set_out,
)
from codex_actors.protocol import (
    DangerFullAccess,
    ExternalSandbox,
    Granular,
    ReadOnly,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.testing._strategies import approval_policies

cases = st.builds(
    Case,
    decision=st.sampled_from(["allow", "prompt", "forbidden"]),
    approval_policy=approval_policies(),
    wants=st.sampled_from(["default", "extra", "unconfined"]),
    by_rule=st.booleans(),
    is_unconfined=st.booleans(),
    denies_reading=st.booleans(),
)
happenings = st.lists(st.booleans(), min_size=4, max_size=4)


def walk(start: Callable[[Case], Course], case: Case, happens: list[bool]) -> list[Course]:
    """All that becomes of a case; ``happens`` are answers, and whether attempts are denied."""
    way = [start(case)]
    for truth in happens:
        match way[-1].step:
            case Ask():
                way.append(on_answer(way[-1], approved=truth))
            case Attempt():
                way.append(on_attempt(way[-1], denied=truth))
            case _:
                break
    return way


def check(start: Callable[[Case], Course], case: Case, happens: list[bool]) -> None:
    way = walk(start, case, happens)
    attempts = [course for course in way if isinstance(course.step, Attempt)]

    assert way[-1].is_over
    assert len(attempts) <= 2
    if len(attempts) == 2:
        assert [False, True] == [_free(course) for course in attempts]
    for before, course in zip([None, *way], way, strict=False):
        if _free(course) and not case.is_unconfined:
            yes = before is not None and before.step == Ask(True, again=len(attempts) == 2)
            assert yes or case.by_rule
            assert not case.denies_reading
    if case.decision == "forbidden":
        assert [Refuse()] == [course.step for course in way]
    if case.decision == "prompt":
        assert isinstance(way[0].step, Ask)


def _free(course: Course) -> bool:
    return isinstance(course.step, Attempt) and course.step.unconfined


@given(cases, happenings)
def test_every_way_keeps_the_laws(case: Case, happens: list[bool]) -> None:
    check(set_out, case, happens)


@given(cases, happenings)
def test_nobody_is_asked_twice_who_says_no(case: Case, happens: list[bool]) -> None:
    way = walk(set_out, case, happens)
    for course, after in pairwise(way):
        if isinstance(course.step, Ask) and isinstance(after.step, Refuse):
            assert after is way[-1]


@given(cases, happenings)
def test_a_denied_attempt_stands_unless_the_policy_has_somebody_asked(
    case: Case, happens: list[bool]
) -> None:
    asks = case.approval_policy in ("untrusted", "on-failure") or (
        isinstance(case.approval_policy, Granular) and case.approval_policy.sandbox_approval
    )
    again = [c for c in walk(set_out, case, happens) if c.step == Ask(True, again=True)]
    assert asks or not again


def _never_confined(case: Case) -> Course:
    return Course(case, Attempt(True), attempts=1) if case.decision == "allow" else set_out(case)


def _asks_never(case: Case) -> Course:
    return set_out(attrs.evolve(case, decision="allow"))


@pytest.mark.parametrize("planted", [_never_confined, _asks_never])
def test_the_laws_have_teeth(planted: Callable[[Case], Course]) -> None:
    case = Case(decision="prompt", approval_policy="on-request")
    allowed = attrs.evolve(case, decision="allow")
    with pytest.raises(AssertionError):
        for each in (case, allowed):
            check(planted, each, [True] * 4)


def test_what_must_not_be_read_keeps_everything_in_the_sandbox() -> None:
    case = Case(decision="allow", approval_policy="untrusted", by_rule=True, denies_reading=True)

    assert Attempt(False) == set_out(case).step
    assert Attempt(True) == set_out(attrs.evolve(case, denies_reading=False)).step


def test_a_yes_to_the_sandbox_is_none_to_going_without() -> None:
    case = Case(decision="prompt", approval_policy="untrusted")
    asked = set_out(case)
    attempted = on_answer(asked, approved=True)
    again = on_attempt(attempted, denied=True)

    assert [Ask(False), Attempt(False), Ask(True, again=True)] == [
        asked.step,
        attempted.step,
        again.step,
    ]
    assert Attempt(True) == on_answer(again, approved=True).step
    assert Accept() == on_attempt(on_answer(again, approved=True), denied=True).step


def test_what_does_not_follow_is_refused() -> None:
    over = set_out(Case(decision="forbidden", approval_policy="never"))
    with pytest.raises(ValueError, match="asks nobody"):
        on_answer(over, approved=True)
    with pytest.raises(ValueError, match="is none"):
        on_attempt(over, denied=True)


@pytest.mark.parametrize(
    ("policy", "unconfined"),
    [
        (ReadOnly(), False),
        (WorkspaceWrite(), False),
        (DangerFullAccess(), True),
        (ExternalSandbox(), True),
    ],
)
def test_what_a_policy_says_of_a_case(policy: SandboxPolicy, unconfined: bool) -> None:
    situation = Situation(approval_policy="on-request", sandbox_policy=policy, escalates=True)
    verdict = Verdict(decision="prompt", bypasses_sandbox=False)

    assert Case(
        decision="prompt",
        approval_policy="on-request",
        wants="unconfined",
        is_unconfined=unconfined,
    ) == case_of(verdict, situation, "unconfined")
