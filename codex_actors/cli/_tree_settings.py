"""What an agent of a tree works with, as its records have it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

import attrs

from ..core import sandbox_mode
from ..protocol import ActiveProfile, AgentPlan, Profiled, SandboxPolicy, TurnContext
from ..wire import WireError, decode_plan


@final
@attrs.frozen(kw_only=True)
class Effective:
    """Settings as they came out, of everything that was asked for; None: nobody wrote it down."""

    model: str | None = None
    effort: str | None = None
    sandbox: SandboxPolicy | None = None
    cwd: str | None = None


def effective_settings(spec: Mapping[str, Any], context: TurnContext | None) -> Effective:
    """Return what an agent works with.

    Args:
        spec: What it was made as, as the journal says it.
        context: What its last turn ran with; None: it had none.
    """
    if context is not None:
        return Effective(
            model=context.model,
            effort=context.effort,
            sandbox=context.sandbox_policy,
            cwd=context.cwd,
        )
    plan = _plan(spec)
    return Effective(
        model=plan.model, effort=plan.effort, sandbox=plan.sandbox_policy, cwd=plan.cwd
    )


def settings_words(own: Effective, owner: Effective | None, *, all_of_them: bool) -> str:
    """Return what people are told of an agent's settings; empty if there is nothing to tell.

    Args:
        own: The agent's.
        owner: Its owner's, with which it has the others in common; None: it has none.
        all_of_them: Whether it does not matter whether the owner has the same.
    """
    if owner is None and not all_of_them:
        return ""
    theirs = Effective() if owner is None or all_of_them else owner
    return ", ".join(_differing(own, theirs))


def sandbox_word(policy: SandboxPolicy | None) -> str | None:
    """Return a policy in a word, as config has it: a profile's name, or the mode."""
    match policy:
        case None:
            return None
        case Profiled(active=ActiveProfile(id=name)):
            return name
        case _:
            return sandbox_mode(policy)


def _differing(own: Effective, theirs: Effective) -> Iterator[str]:
    if own.model not in (None, theirs.model):
        yield f"{own.model}"
    if own.effort not in (None, theirs.effort):
        yield f"effort {own.effort}"
    if own.sandbox not in (None, theirs.sandbox):
        yield f"{sandbox_word(own.sandbox)}"
    if own.cwd not in (None, theirs.cwd):
        yield f"in {own.cwd}"


def _plan(spec: Mapping[str, Any]) -> AgentPlan:
    try:
        return decode_plan(spec)
    except WireError:
        return AgentPlan()
