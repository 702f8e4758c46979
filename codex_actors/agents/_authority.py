"""What a child is made with: its parent's settings, its role's, and what was asked for.

Each takes precedence over the one before, and none is dropped in silence: what cannot be had is
refused. Authority only ever narrows on the way down. Held by tests/agents/test_authority.py.
"""

from __future__ import annotations

import os.path
from typing import Final

import attrs

from ..config import SUMMARIES, find_model
from ..core import is_confined, is_within, move_profile, with_denied
from ..protocol import (
    ApprovalPolicy,
    Bound,
    ManagedProfile,
    ModelInfo,
    Overrides,
    Profiled,
    ReadOnly,
    Role,
    SandboxPolicy,
    Settings,
)
from ..sandbox import resolve_confinement
from ._errors import AuthorityWidened, UnknownEffort, UnknownModel, UnknownSummary

_NO_ROLE: Final = Role(name="default")


def child_settings(
    parent: Settings, spec_role: Role | None, overrides: Overrides, instructions: str | None
) -> Settings:
    """Return the settings of a child. Blocks: looks up where paths lead, if policies differ.

    A model that is named without an effort is used with its own default effort. Instructions of
    the role and of the spawn stand together, and take the place of the parent's.

    Args:
        parent: The settings that the parent works with now.
        spec_role: The kind of agent that the child is.
        overrides: What else was asked for.
        instructions: What the child is for, as far as its role does not say it.

    Raises:
        UnknownModel: if nothing is known of the model.
        UnknownEffort: if the model does not know the effort.
        UnknownSummary: if the model has no such summary.
        AuthorityWidened: if the child would be allowed what its parent or its role is not, or
            asked another way than its parent.
    """
    role = spec_role or _NO_ROLE
    model = _model(parent, role, overrides)
    cwd = parent.cwd
    if overrides.cwd is not None:
        cwd = os.path.normpath(os.path.join(parent.cwd, overrides.cwd))
    policy = _sandbox(parent, role, overrides, cwd)
    return attrs.evolve(
        parent,
        model=model,
        effort=_effort(parent, role, overrides, model),
        summary=_summary(overrides, model) or role.summary or parent.summary,
        verbosity=role.verbosity or parent.verbosity,
        service_tier=role.service_tier or parent.service_tier,
        cwd=cwd,
        sandbox_policy=policy,
        bounds=bounds_below(parent, Bound(policy=policy, cwd=cwd)),
        approval_policy=_approval(parent, overrides),
        developer_instructions=_instructions(parent, role, instructions),
        # It says what the parent's last message must be like, which is not the child's.
        output_schema=None,
    )


def _model(parent: Settings, role: Role, overrides: Overrides) -> ModelInfo:
    slug = role.model if overrides.model is None else overrides.model
    if slug is None or slug == parent.model.slug:
        return parent.model
    model = find_model(slug, parent.models)
    if model.is_fallback:
        listed = [name for name, info in parent.models.items() if info.visibility == "list"]
        raise UnknownModel(slug, listed)
    return model


def _effort(parent: Settings, role: Role, overrides: Overrides, model: ModelInfo) -> str | None:
    for chooser in (overrides, role):
        if chooser.model is not None or chooser.effort is not None:
            effort = chooser.effort
            break
    else:
        return parent.effort
    if effort is not None and model.efforts and effort not in model.efforts:
        raise UnknownEffort(effort, model.slug, model.efforts)
    return effort


def _summary(overrides: Overrides, model: ModelInfo) -> str | None:
    supported = SUMMARIES if model.supports_summary else ("none",)
    if overrides.summary is not None and overrides.summary not in supported:
        raise UnknownSummary(overrides.summary, model.slug, supported)
    return overrides.summary


def _sandbox(parent: Settings, role: Role, overrides: Overrides, cwd: str) -> SandboxPolicy:
    own = policy = bound_of(parent).policy
    if role.sandbox_policy is overrides.sandbox_policy is None and cwd == parent.cwd:
        return own
    for said in (role.sandbox_policy, overrides.sandbox_policy):
        if said is not None:
            wished = with_denied(said, own, parent.cwd)
            # What a role leaves open is about the child's directory, as the wish is.
            where = parent.cwd if policy is own else cwd
            if not _is_within(
                parent, Bound(policy=wished, cwd=where), Bound(policy=policy, cwd=where)
            ):
                raise AuthorityWidened("sandbox policy", wished, policy)
            policy = wished
    if policy is own and not is_confined(own):
        return own
    if policy is own:
        policy = _moved(own, parent.cwd, cwd)
    if not _is_within(parent, Bound(policy=policy, cwd=cwd), bound_of(parent)):
        raise AuthorityWidened("working directory", cwd, own)
    return policy


def _moved(policy: SandboxPolicy, old: str, new: str) -> SandboxPolicy:
    match policy:
        case Profiled(profile=ManagedProfile() as profile):
            return attrs.evolve(policy, profile=move_profile(profile, old, new))
        case _:
            return policy


def is_allowed(owner: Settings, wanted: Bound) -> bool:
    """Return whether a policy allows nothing that the owner's forbids. Blocks."""
    return wanted == bound_of(owner) or _is_within(owner, wanted, bound_of(owner))


def bound_of(settings: Settings) -> Bound:
    """Return what nobody below may go beyond."""
    # Where nobody chose, commands only read.
    return Bound(policy=settings.sandbox_policy or ReadOnly(), cwd=settings.cwd)


def bounds_below(owner: Settings, own: Bound) -> tuple[Bound, ...]:
    """Return the bounds of somebody whose own policy is this."""
    bound = bound_of(owner)
    narrowed = own != bound and is_confined(bound.policy)
    return (*owner.bounds, bound) if narrowed else owner.bounds


def _is_within(settings: Settings, inner: Bound, outer: Bound) -> bool:
    one, other = (
        resolve_confinement(bound.policy, bound.cwd, settings.environment)
        for bound in (inner, outer)
    )
    return is_within(one, other)


def _approval(parent: Settings, overrides: Overrides) -> ApprovalPolicy:
    wished = overrides.approval_policy
    if wished is not None and wished != parent.approval_policy:
        raise AuthorityWidened("approval policy", wished, parent.approval_policy)
    return parent.approval_policy


def _instructions(parent: Settings, role: Role, instructions: str | None) -> str | None:
    said = [text for text in (role.instructions, instructions) if text is not None]
    return "\n\n".join(filter(None, said)) if said else parent.developer_instructions
