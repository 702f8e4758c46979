"""What becomes of a command: run it, ask somebody, or refuse it.

For each plain command in it, rules come first; of what no rule allows, the table of policies
decides. The strictest of all parts holds. Adding a rule that does not allow never allows more:
such a rule is only ever laid over what was there. Held by tests/core/test_exec_policy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from ..protocol import ApprovalPolicy, Granular, SandboxPolicy
from ._command import TakenApart
from ._dangerous_commands import is_dangerous_command
from ._exec_policy import SEVERITY, Decision, ExecRules, RuleMatch
from ._profiles import is_confined
from ._safe_commands import safe_parts
from ._script_rules import match_parts
from ._shell_state import Doubt
from ._shell_tree import Words

Asker: TypeAlias = Literal["rules", "sandbox_approval"]
Silencer: TypeAlias = Literal["never", "rules", "sandbox_approval"]
GroundKind: TypeAlias = Literal["rule", "danger", "unknown", "escalation"]

_NEVER: Final = "somebody would have to approve it, and the approval policy is never to ask"


@final
@attrs.frozen(kw_only=True)
class Situation:
    """What a command is to run under."""

    approval_policy: ApprovalPolicy
    sandbox_policy: SandboxPolicy
    escalates: bool = False
    """Whether it asks to run without the sandbox, or with more than the sandbox permits."""
    is_elsewhere: bool = False
    """Whether it runs in another directory than its agent, as after a ``cd``."""


@final
@attrs.frozen(kw_only=True)
class Ground:
    """Why a command is not simply run, for programs."""

    kind: GroundKind
    prefix: Words = ()
    """Of a rule: the words that it is about."""
    justification: str | None = None
    """Of a rule: why it is there."""
    unasked: Silencer | None = None
    """What keeps anybody from being asked: the policy, or a switch of a granular one."""


@final
@attrs.frozen(kw_only=True)
class Verdict:
    """What becomes of a command."""

    decision: Decision
    reason: str | None = None
    """Why it is not simply run, for people and models."""
    matches: tuple[RuleMatch, ...] = ()
    """What the rules said, of all parts in order."""
    bypasses_sandbox: bool = False
    """Whether a rule allows every part, so that no sandbox is asked for."""
    ground: Ground | None = None
    """The reason, for programs."""


@final
@attrs.frozen
class _Ruling:
    decision: Decision
    reason: str | None = None
    ground: Ground | None = None


def judge_command(apart: TakenApart, rules: ExecRules, situation: Situation) -> Verdict:
    """Decide about a command; there is an answer for every one.

    Args:
        apart: What `take_apart` made of it.
        rules: Those that hold.
        situation: What it is to run under.
    """
    first: Doubt = "place" if situation.is_elsewhere else "none"
    matches = match_parts(rules, apart, by_name=True, first=first)
    rulings = [
        _judge_part(part, found, situation, is_safe=is_safe)
        for part, found, is_safe in zip(apart.parts, matches, safe_parts(apart, first), strict=True)
    ]
    if apart.is_too_deep:
        rulings.append(_of_danger(situation))
    strictest = max(rulings, key=_weight)
    return Verdict(
        decision=strictest.decision,
        reason=strictest.reason,
        matches=tuple(match for found in matches for match in found),
        bypasses_sandbox=strictest.decision == "allow" and all(map(_allows, matches)),
        ground=strictest.ground,
    )


def judge_patch(policy: ApprovalPolicy, *, beyond: bool) -> Decision:
    """Decide about a patch.

    Args:
        policy: When somebody may be asked.
        beyond: Whether it writes what the sandbox policy keeps from being written.
    """
    if policy == "untrusted":
        return "prompt"
    if not beyond:
        return "allow"
    return "prompt" if what_silences(policy, "sandbox_approval") is None else "forbidden"


def what_silences(policy: ApprovalPolicy, asker: Asker) -> Silencer | None:
    """Return what keeps anybody from being asked: the policy, or its switch; None: nothing."""
    if policy == "never":
        return "never"
    return asker if isinstance(policy, Granular) and not getattr(policy, asker) else None


def may_gain(policy: ApprovalPolicy) -> bool:
    """Return whether somebody may be asked for permissions by themselves."""
    return policy.request_permissions if isinstance(policy, Granular) else policy != "never"


def _judge_part(
    part: Words, matches: Sequence[RuleMatch], situation: Situation, *, is_safe: bool
) -> _Ruling:
    rulings = [_by_rule(match, situation) for match in matches]
    if not _allows(matches):
        rulings.append(_without_rule(part, situation, is_safe=is_safe))
    return max(rulings, key=_weight)


def _weight(ruling: _Ruling) -> tuple[int, bool]:
    # Of two that are as strict, the reason of the rule says more.
    ground = ruling.ground
    return SEVERITY.index(ruling.decision), ground is not None and ground.kind == "rule"


def _allows(matches: Sequence[RuleMatch]) -> bool:
    return any(match.decision == "allow" for match in matches)


def _by_rule(match: RuleMatch, situation: Situation) -> _Ruling:
    if match.decision == "allow":
        return _Ruling("allow")
    begins = " ".join(match.prefix)
    reason = match.justification or f"a rule about commands that begin with {begins!r} says so"
    ground = Ground(kind="rule", prefix=match.prefix, justification=match.justification)
    if match.decision == "prompt":
        return _ask(situation, "rules", reason, ground)
    return _Ruling("forbidden", reason, ground)


def _without_rule(part: Words, situation: Situation, *, is_safe: bool) -> _Ruling:
    policy = situation.approval_policy
    if is_dangerous_command(part):
        return _of_danger(situation)
    if policy == "untrusted":
        if is_safe and not situation.escalates:
            return _Ruling("allow")
        return _ask(situation, "sandbox_approval", "it is not known to be safe", _UNKNOWN)
    if not situation.escalates or policy == "never" or _is_unconfined(situation):
        # Under "never", whoever runs it refuses to run it without the sandbox.
        return _Ruling("allow")
    reason = "it asks for more than the sandbox permits"
    return _ask(situation, "sandbox_approval", reason, _ESCALATION)


def _of_danger(situation: Situation) -> _Ruling:
    reason = "it may remove what nobody can bring back"
    return _ask(situation, "sandbox_approval", reason, _DANGER)


def _is_unconfined(situation: Situation) -> bool:
    return not is_confined(situation.sandbox_policy)


def _ask(situation: Situation, asker: Asker, reason: str, ground: Ground) -> _Ruling:
    """Ask, or refuse where the policy lets nobody ask."""
    silencer = what_silences(situation.approval_policy, asker)
    if silencer is None:
        return _Ruling("prompt", reason, ground)
    off = f"the approval policy has granular.{silencer} switched off"
    said = f"{reason}; {_NEVER if silencer == 'never' else off}"
    return _Ruling("forbidden", said, attrs.evolve(ground, unasked=silencer))


_UNKNOWN: Final = Ground(kind="unknown")
_DANGER: Final = Ground(kind="danger")
_ESCALATION: Final = Ground(kind="escalation")
