"""What tools ask before they act, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import attrs

from ..protocol import ExtraPermissions, FileChange
from ._course import Case, Course, Wants
from ._profiles import denies_reading, is_confined
from ._verdict import Situation, Verdict

NO_EXTRA: Final = ExtraPermissions()


@final
@attrs.frozen(kw_only=True)
class CommandWish:
    """A command that a call is about to run."""

    call_id: str
    argv: tuple[str, ...]
    cwd: str
    is_elsewhere: bool = False
    """Whether that is another directory than the agent's own."""
    env: Mapping[str, str] = attrs.field(repr=False)
    tty: bool = False
    wants: Wants = "default"
    extra: ExtraPermissions = NO_EXTRA
    """What else it is to be allowed, where it ``wants`` that."""
    justification: str | None = None
    """What the model says that it is for."""
    prefix: tuple[str, ...] | None = None
    """The beginning of commands that the model would like to have allowed from now on."""


@final
@attrs.frozen(kw_only=True)
class InputWish:
    """What a call is about to type into a command that runs without the sandbox."""

    call_id: str
    session_id: int
    chars: str
    cwd: str
    """The directory that the command was started in."""


@final
@attrs.frozen(kw_only=True)
class PatchWish:
    """A patch that a call is about to apply."""

    call_id: str
    changes: Mapping[str, FileChange]
    cwd: str
    beyond: tuple[str, ...] = ()
    """Where its paths lead, links followed, as far as the sandbox policy keeps it unwritten."""
    why_beyond: str | None = None
    """What is wrong with the first of them, in the reference's words."""


@final
@attrs.frozen(kw_only=True)
class PermissionWish:
    """Permissions that a call asks for, whatever for."""

    call_id: str
    extra: ExtraPermissions
    reason: str | None = None


@final
@attrs.frozen(kw_only=True)
class Permit:
    """A yes to one attempt."""

    unconfined: bool = False
    """Whether it goes without the sandbox."""
    extra: ExtraPermissions = NO_EXTRA
    """What it may do beyond the sandbox policy."""
    started_at_ms: int | None = None
    """When people were told that it begins, if somebody was asked; Unix milliseconds."""
    course: Course | None = None
    """How far it has come."""

    @property
    def is_escalated(self) -> bool:
        """Whether it goes without the sandbox that is there, because of a rule or an answer."""
        course = self.course
        return course is not None and self.unconfined and course.is_escalated

    @property
    def may_retry(self) -> bool:
        """Whether it may be attempted again if the sandbox is in the way."""
        return self.course is not None and self.course.may_go_on


def case_of(verdict: Verdict, situation: Situation, wants: Wants) -> Case:
    """Return what is known of a command when its way begins."""
    return Case(
        decision=verdict.decision,
        approval_policy=situation.approval_policy,
        wants=wants,
        by_rule=verdict.bypasses_sandbox,
        is_unconfined=not is_confined(situation.sandbox_policy),
        denies_reading=denies_reading(situation.sandbox_policy),
    )


@final
@attrs.frozen
class Refusal:
    """A no."""

    reason: str
    """What the model is told."""
