"""The order of things: rules and policies, what was granted, who answers, attempts."""

from __future__ import annotations

from typing import Final, final

import attrs
import trio

from ..core import (
    NO_EXTRA,
    Ask,
    Attempt,
    CommandWish,
    Course,
    InputWish,
    PatchWish,
    PermissionWish,
    Permit,
    Refusal,
    Situation,
    Verdict,
    add_extra,
    case_of,
    explain_forbidden,
    explain_question,
    grant_within,
    judge_patch,
    lacks,
    may_gain,
    on_answer,
    on_attempt,
    refuse_escalation,
    refuse_input,
    set_out,
)
from ..protocol import (
    ApprovalDecision,
    Approved,
    ApprovedForSession,
    ChangeFiles,
    Choice,
    ExtraPermissions,
    GainPermissions,
    GrantedPermissions,
    ReadOnly,
    RunCommand,
    Settings,
)
from ._asker import Asker, is_yes, why_not
from ._errors import RulesError
from ._exec_policy import ExecPolicy
from ._questions import Question

_NOTHING: Final = GrantedPermissions(NO_EXTRA)
_EACH_TIME: Final[tuple[Choice, ...]] = ("approve", "deny", "abort")
_IN_THE_WAY: Final = "command failed; retry without sandbox?"


@final
@attrs.define(eq=False, kw_only=True)
class TurnGuard:
    """Decides about the calls of one turn; a `codex_actors.tools.Guard`."""

    settings: Settings
    asker: Asker
    _extra: ExtraPermissions = NO_EXTRA
    """What the turn was granted."""

    @property
    def held(self) -> ExtraPermissions:
        """See `codex_actors.tools.Guard.held`."""
        return add_extra(self._extra, self.asker.approvals.grants.held(self.asker.thread_id))

    async def admit_command(self, wish: CommandWish, /) -> Permit | Refusal:
        """See `codex_actors.tools.Guard.admit_command`."""
        try:
            policy = await self.asker.approvals.rules.policy(self.settings.cwd)
        except RulesError as error:
            return Refusal(str(error))
        if wish.wants == "extra" and not lacks(self.held, wish.extra):
            wish = attrs.evolve(wish, wants="default")
        escalation = refuse_escalation(self.settings.approval_policy)
        if wish.wants != "default" and escalation is not None:
            return Refusal(escalation)
        situation = self._situation(wish)
        verdict = policy.judge(wish.argv, situation)
        course = set_out(case_of(verdict, situation, wish.wants))
        match course.step:
            case Attempt(unconfined):
                return Permit(unconfined=unconfined, extra=self.held, course=course)
            case Ask(unconfined):
                question = self._about_command(wish, verdict, policy, unconfined=unconfined)
                return await self._follow(question, course, wish)
            case _:
                return Refusal(explain_forbidden(verdict, wish.argv))

    async def retry_command(self, wish: CommandWish, permit: Permit, /) -> Permit | Refusal | None:
        """See `codex_actors.tools.Guard.retry_command`."""
        await trio.lowlevel.checkpoint()
        if permit.course is None:
            return None
        course = on_attempt(permit.course, denied=True)
        if not isinstance(course.step, Ask):
            return None
        request = self.asker.request(
            wish.call_id,
            self._command(wish, unconfined=True),
            "it has failed, and the sandbox seems to have been in its way",
            justification=wish.justification,
        )
        return await self._follow(Question(request=request, reason=_IN_THE_WAY), course, wish)

    async def admit_input(self, wish: InputWish, /) -> Permit | Refusal:
        """See `codex_actors.tools.Guard.admit_input`. Each input is asked about by itself."""
        refusal = refuse_input(self.settings.approval_policy)
        if refusal is not None:
            await trio.lowlevel.checkpoint()
            return Refusal(refusal)
        action = RunCommand(
            command=("write_stdin", "--session-id", str(wish.session_id), wish.chars),
            cwd=wish.cwd,
            environment="",
            tty=True,
            unconfined=True,
        )
        why = "it types into a command that runs without the sandbox"
        if self.settings.approval_policy == "never":
            await trio.lowlevel.checkpoint()
            return Refusal(f"{why}, and the approval policy is never to ask")
        request = self.asker.request(wish.call_id, action, why)
        request = attrs.evolve(request, choices=_EACH_TIME)
        answer = await self.asker.ask(Question(request=request, reason=why, is_shown=False))
        return Permit(unconfined=True) if is_yes(answer) else Refusal(why_not(answer))

    async def admit_patch(self, wish: PatchWish, /) -> Permit | Refusal:
        """See `codex_actors.tools.Guard.admit_patch`."""
        decision = judge_patch(self.settings.approval_policy, beyond=bool(wish.beyond))
        if decision == "allow":
            await trio.lowlevel.checkpoint()
            return Permit()
        if decision == "forbidden":
            await trio.lowlevel.checkpoint()
            why = f"patch rejected: {wish.why_beyond}; rejected by user approval settings"
            return Refusal(why)
        question = self._about_patch(wish)
        if self.asker.knows(question):
            await trio.lowlevel.checkpoint()
            return Permit()
        answer = await self.asker.ask(question)
        if is_yes(answer):
            return Permit(started_at_ms=int(question.request.asked_at * 1000))
        return Refusal(f"patch {why_not(answer)}")

    async def grant(self, wish: PermissionWish, /) -> GrantedPermissions:
        """See `codex_actors.tools.Guard.grant`."""
        if not may_gain(self.settings.approval_policy):
            await trio.lowlevel.checkpoint()
            return _NOTHING
        action = GainPermissions(extra=wish.extra, cwd=self.settings.cwd)
        request = self.asker.request(
            wish.call_id,
            action,
            "it asks for more than the sandbox permits",
            justification=wish.reason,
        )
        answer = await self.asker.ask(Question(request=request, reason=wish.reason))
        granted = _granted(answer, wish.extra)
        if granted.scope == "session":
            self.asker.approvals.grants.widen(self.asker.thread_id, granted.extra)
        else:
            self._extra = add_extra(self._extra, granted.extra)
        return granted

    async def _follow(
        self, question: Question, course: Course, wish: CommandWish
    ) -> Permit | Refusal:
        """Have the question decided, unless it was before, and return what follows."""
        answer: ApprovalDecision = Approved()
        started_at_ms = None
        if self.asker.knows(question):
            await trio.lowlevel.checkpoint()
        else:
            answer = await self.asker.ask(question)
            started_at_ms = int(question.request.asked_at * 1000)
        course = on_answer(course, approved=is_yes(answer))
        if not isinstance(course.step, Attempt):
            return Refusal(why_not(answer))
        extra = self.held
        if wish.wants == "extra":
            extra = add_extra(extra, wish.extra)
        return Permit(
            unconfined=course.step.unconfined,
            extra=extra,
            started_at_ms=started_at_ms,
            course=course,
        )

    def _situation(self, wish: CommandWish) -> Situation:
        return Situation(
            approval_policy=self.settings.approval_policy,
            sandbox_policy=self.settings.sandbox_policy or ReadOnly(),
            escalates=wish.wants != "default",
            is_elsewhere=wish.is_elsewhere,
        )

    def _command(self, wish: CommandWish, *, unconfined: bool) -> RunCommand:
        return RunCommand(
            command=wish.argv,
            cwd=wish.cwd,
            environment=self.asker.approvals.fingerprint(wish.env),
            tty=wish.tty,
            unconfined=unconfined,
            extra=wish.extra if wish.wants == "extra" else None,
        )

    def _about_command(
        self, wish: CommandWish, verdict: Verdict, policy: ExecPolicy, *, unconfined: bool
    ) -> Question:
        request = self.asker.request(
            wish.call_id,
            self._command(wish, unconfined=unconfined),
            _why(verdict),
            justification=wish.justification,
            rule=policy.propose(wish.argv, self._situation(wish), wish.prefix),
        )
        reason = explain_question(verdict, wish.argv) or wish.justification
        return Question(request=request, reason=reason)

    def _about_patch(self, wish: PatchWish) -> Question:
        action = ChangeFiles(changes=tuple(wish.changes.items()), cwd=wish.cwd, beyond=wish.beyond)
        why = wish.why_beyond or "every change is to be looked at"
        return Question(request=self.asker.request(wish.call_id, action, why))


def _why(verdict: Verdict) -> str:
    """Return why somebody is asked; that a rule does it is said, whatever else the rule says."""
    if verdict.ground is not None and verdict.ground.justification is not None:
        return f"a rule asks: {verdict.ground.justification}"
    return verdict.reason or "somebody is to decide"


def _granted(answer: ApprovalDecision, wished: ExtraPermissions) -> GrantedPermissions:
    match answer:
        case GrantedPermissions(extra, scope):
            return GrantedPermissions(grant_within(wished, extra), scope)
        case Approved():
            return GrantedPermissions(wished)
        case ApprovedForSession():
            return GrantedPermissions(wished, "session")
        case _:
            return _NOTHING
