"""The way of one action from the model's wish to its end: asked about, attempted, asked again.

`set_out` says what to do first; `on_answer` and `on_attempt` say what to do next. Held by
tests/core/test_course.py: every way ends; no attempt is unconfined unless rules allow the whole
action, somebody has said yes to just that, or there is nothing that confines; none is where some
place must not even be read; there are two attempts at most, and the second one is unconfined.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, final

import attrs

from ..protocol import ApprovalPolicy, Granular
from ._exec_policy import Decision

Wants: TypeAlias = Literal["default", "extra", "unconfined"]
"""What an action is to be run with: what the policy gives, more of it, or everything."""


@final
@attrs.frozen(kw_only=True)
class Case:
    """What is known of an action before anything is done about it."""

    decision: Decision
    """What the rules and the policies say."""
    approval_policy: ApprovalPolicy
    wants: Wants = "default"
    by_rule: bool = False
    """Whether rules allow all of it, so that no sandbox is asked for."""
    is_unconfined: bool = False
    """Whether the sandbox policy confines nothing anyway."""
    denies_reading: bool = False
    """Whether there is something that must not even be read."""

    @property
    def may_escalate(self) -> bool:
        """Whether anything may run without the sandbox that is there."""
        return not self.is_unconfined and not self.denies_reading


@final
@attrs.frozen
class Refuse:
    """Do not do it, and tell the model why."""


@final
@attrs.frozen
class Ask:
    """Have somebody decide."""

    unconfined: bool
    """Whether a yes lets it run without the sandbox."""
    again: bool = False
    """Whether that is because the sandbox was in the way."""


@final
@attrs.frozen
class Attempt:
    """Do it."""

    unconfined: bool


@final
@attrs.frozen
class Accept:
    """What came of the attempt is what the model gets."""


CourseStep: TypeAlias = Refuse | Ask | Attempt | Accept


@final
@attrs.frozen
class Course:
    """How far an action has come."""

    case: Case
    step: CourseStep
    """What is being done."""
    attempts: int = 0

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return isinstance(self.step, Refuse | Accept)

    @property
    def is_escalated(self) -> bool:
        """Whether it goes without the sandbox that is there."""
        free = isinstance(self.step, Attempt) and self.step.unconfined
        return free and not self.case.is_unconfined

    @property
    def may_go_on(self) -> bool:
        """Whether an attempt that the sandbox was in the way of would not be the last."""
        confined = isinstance(self.step, Attempt) and not self.step.unconfined
        return confined and self.case.may_escalate and _asks_again(self.case.approval_policy)


def set_out(case: Case) -> Course:
    """Return the first step."""
    match case.decision:
        case "forbidden":
            return Course(case, Refuse())
        case "prompt":
            return Course(case, Ask(case.wants == "unconfined" and case.may_escalate))
        case "allow":
            return _attempt(Course(case, Accept()), unconfined=case.by_rule and case.may_escalate)


def on_answer(course: Course, *, approved: bool) -> Course:
    """Return what to do after somebody has decided.

    Raises:
        ValueError: if nobody was asked.
    """
    if not isinstance(course.step, Ask):
        raise ValueError(f"an answer came to {course.step!r}, which asks nobody")
    if not approved:
        # What a denied retry leaves is the attempt before it, but it was a no to all of it.
        return attrs.evolve(course, step=Refuse())
    return _attempt(course, unconfined=course.step.unconfined)


def on_attempt(course: Course, *, denied: bool) -> Course:
    """Return what to do after an attempt.

    Args:
        course: Where it stands.
        denied: Whether the sandbox seems to have been in the way.

    Raises:
        ValueError: if there was no attempt.
    """
    if not isinstance(course.step, Attempt):
        raise ValueError(f"an attempt ended in {course.step!r}, which is none")
    if denied and course.may_go_on:
        # Also if somebody was asked before: that was a yes to running it in the sandbox.
        return attrs.evolve(course, step=Ask(unconfined=True, again=True))
    return attrs.evolve(course, step=Accept())


def _attempt(course: Course, *, unconfined: bool) -> Course:
    step = Attempt(unconfined or course.case.is_unconfined)
    return attrs.evolve(course, step=step, attempts=course.attempts + 1)


def _asks_again(policy: ApprovalPolicy) -> bool:
    """Whether somebody is asked when the sandbox was in the way; as the reference has it."""
    if isinstance(policy, Granular):
        return policy.sandbox_approval
    return policy in ("untrusted", "on-failure")
