"""What an agent was made as: written into the journal, and read when its tree is resumed."""

from __future__ import annotations

from typing import Any, Final

import attrs

from ..actors import Restart, RestartLimit, Strategy
from ..config import find_model
from ..protocol import AgentPath, AgentPlan, Bound, ReadOnly, Role, Settings
from ..rollout import AgentEdge
from ..tools import Tool
from ..wire import WireError, decode_plan, encode_plan
from ._authority import bounds_below, is_allowed
from ._desk import Desk
from ._spec import AgentSpec, Fork

_DIGITS: Final = 9
"""Of a number of turns; a journal may say anything, and endless numbers cannot be read."""


def edge_of(desk: Desk, created_at: str) -> AgentEdge:
    """Return what the journal is told of an agent."""
    return AgentEdge(
        path=desk.path,
        thread_id=desk.thread_id,
        parent_thread_id=None if desk.parent is None else desk.parent.thread_id,
        created_at=created_at,
        spec=encode_plan(_plan_of(desk)),
    )


def read_plan(edge: AgentEdge) -> AgentPlan:
    """Return what an agent was made as; nothing is known of what cannot be read."""
    try:
        return decode_plan(edge.spec)
    except WireError:
        return AgentPlan()


def spec_of(plan: AgentPlan, path: AgentPath, tools: tuple[Tool, ...]) -> AgentSpec:
    """Return the spec of an agent that is made again."""
    role = None if plan.role is None else Role(name=plan.role, without_tools=plan.without_tools)
    return AgentSpec(
        name=path.name,
        nickname=plan.nickname,
        instructions=plan.instructions,
        role=role,
        fork=_fork(plan.fork),
        limits=plan.limits,
        tools=tools,
        restart=_member(Restart, plan.restart, Restart.TRANSIENT),
        children_restart_limit=RestartLimit(
            max_restarts=plan.children_max_restarts, within=plan.children_within
        ),
        children_strategy=_member(Strategy, plan.children_strategy, Strategy.ONE_FOR_ONE),
        grace=max(plan.grace, 0.0),
    )


def settings_of(plan: AgentPlan, owner: Settings) -> Settings:
    """Return the settings of an agent that is made again: as before, within its owner's. Blocks."""
    cwd = plan.cwd or owner.cwd
    sandbox = owner.sandbox_policy
    if plan.sandbox_policy is not None and sandbox is not None:
        narrower = is_allowed(owner, Bound(policy=plan.sandbox_policy, cwd=cwd))
        sandbox = plan.sandbox_policy if narrower else sandbox
    return attrs.evolve(
        owner,
        model=owner.model if plan.model is None else find_model(plan.model, owner.models),
        effort=plan.effort,
        summary=plan.summary,
        verbosity=plan.verbosity,
        service_tier=plan.service_tier,
        cwd=cwd,
        sandbox_policy=sandbox,
        bounds=bounds_below(owner, Bound(policy=sandbox or ReadOnly(), cwd=cwd)),
        developer_instructions=plan.instructions,
        output_schema=None,
    )


def _plan_of(desk: Desk) -> AgentPlan:
    settings, spec = desk.settings, desk.spec
    return AgentPlan(
        nickname=spec.nickname,
        role=None if spec.role is None else spec.role.name,
        without_tools=() if spec.role is None else spec.role.without_tools,
        instructions=settings.developer_instructions,
        model=settings.model.slug,
        effort=settings.effort,
        summary=settings.summary,
        verbosity=settings.verbosity,
        service_tier=settings.service_tier,
        cwd=settings.cwd,
        approval_policy=settings.approval_policy,
        sandbox_policy=settings.sandbox_policy,
        limits=desk.account.limits,
        restart=spec.restart.value,
        children_max_restarts=spec.children_restart_limit.max_restarts,
        children_within=spec.children_restart_limit.within,
        children_strategy=spec.children_strategy.value,
        grace=spec.grace,
        fork=str(spec.fork),
    )


def _fork(word: str) -> Fork:
    if word == "all":
        return "all"
    return int(word) if word.isdecimal() and len(word) <= _DIGITS else "none"


def _member(kind: Any, value: str, default: Any) -> Any:
    return next((member for member in kind if member.value == value), default)
