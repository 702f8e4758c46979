"""What a child is made with: its parent's settings, its role's, and what was asked for.

Each takes precedence over the one before, and none is dropped in silence: what cannot be had is
refused. Authority only ever narrows on the way down. Held by tests/agents/test_authority.py.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Final

import attrs

from ..config import SUMMARIES, find_model
from ..core import is_within
from ..protocol import (
    ApprovalPolicy,
    ModelInfo,
    Overrides,
    ReadOnly,
    Role,
    SandboxPolicy,
    Settings,
    WorkspaceWrite,
)
from ._errors import AuthorityWidened, UnknownEffort, UnknownModel, UnknownSummary

_NO_ROLE: Final = Role(name="default")


def child_settings(
    parent: Settings, spec_role: Role | None, overrides: Overrides, instructions: str | None
) -> Settings:
    """Return the settings of a child.

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
    return attrs.evolve(
        parent,
        model=model,
        effort=_effort(parent, role, overrides, model),
        summary=_summary(overrides, model) or role.summary or parent.summary,
        verbosity=role.verbosity or parent.verbosity,
        service_tier=role.service_tier or parent.service_tier,
        cwd=cwd,
        sandbox_policy=_sandbox(parent, role, overrides, cwd),
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


def _sandbox(parent: Settings, role: Role, overrides: Overrides, cwd: str) -> SandboxPolicy | None:
    # Where nobody chose, commands only read.
    policy = parent.sandbox_policy or ReadOnly()
    for wished in (role.sandbox_policy, overrides.sandbox_policy):
        if wished is not None:
            if not is_within(wished, policy):
                raise AuthorityWidened("sandbox policy", wished, policy)
            policy = wished
    outer = parent.sandbox_policy
    if isinstance(policy, WorkspaceWrite) and isinstance(outer, WorkspaceWrite):
        # The working directory is writable, so it may not be just anywhere.
        places = [os.path.join(parent.cwd, root) for root in ("", *outer.writable_roots)]
        if not _is_below(cwd, places):
            raise AuthorityWidened("working directory", cwd, places)
    return policy


def _is_below(path: str, places: Iterable[str]) -> bool:
    """Whether the path is one of the places or below one.

    As they are spelled: where links lead may change at any time, so that whoever confines a
    process must look then.
    """
    plain = os.path.normpath(path)
    return any(os.path.commonpath((plain, top)) == top for top in map(os.path.normpath, places))


def _approval(parent: Settings, overrides: Overrides) -> ApprovalPolicy:
    wished = overrides.approval_policy
    if wished is not None and wished != parent.approval_policy:
        raise AuthorityWidened("approval policy", wished, parent.approval_policy)
    return parent.approval_policy


def _instructions(parent: Settings, role: Role, instructions: str | None) -> str | None:
    said = [text for text in (role.instructions, instructions) if text is not None]
    return "\n\n".join(filter(None, said)) if said else parent.developer_instructions
