"""What one turn is run with: its first entries, its tools, and how its requests are made."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

from .. import core
from ..core import Entry, Gate, Guides, Surroundings, Turn
from ..models import Prompt
from ..protocol import ReadOnly, Settings, TurnContext
from ..tools import ExecSessions, ToolContext, TurnChanges
from ..wire import encode_json
from ._briefing import roster
from ._desk import Work
from ._guarding import guard_for
from ._keeping import keeping_for
from ._runner import TurnSetup
from ._slots import Slot
from ._thread import Thread


def set_up_turn(
    work: Work, mail: tuple[Entry, ...], thread: Thread, sessions: ExecSessions, slot: Slot
) -> tuple[Turn, TurnSetup]:
    """Return the turn in its first state, and what to run it with. Not a checkpoint."""
    equipment = thread.equipment()
    now = surroundings_of(thread)
    turn = _first_state(work, mail, thread, equipment.toolbox.gates, now)
    setup = TurnSetup(
        toolbox=equipment.toolbox,
        tool_context=_tool_context(work, thread, sessions, slot),
        prompt=partial(_make_prompt, work, thread, equipment.specs),
        context_line=_context_line(work.turn_id, thread.settings, now),
        slot=slot,
        keeping=keeping_for(thread, work.turn_id),
        seconds=work.seconds,
    )
    thread.told = now
    return turn, setup


def surroundings_of(thread: Thread) -> Surroundings:
    """Return what an agent is told of its surroundings, the other agents among them."""
    settings, briefing = thread.settings, thread.commons.briefing
    plain = surroundings(settings, thread.services.now(), thread.guides)
    if settings.collaboration.generation is None:
        return plain
    return attrs.evolve(
        plain,
        agents=roster(thread.commons.desks[thread.id]),
        team=briefing.team(settings, thread.path),
        mode=briefing.when(settings),
    )


def surroundings(settings: Settings, now: float, guides: Guides | None) -> Surroundings:
    """Return what the model is told of its surroundings.

    Args:
        settings: The turn's settings.
        now: Unix time in seconds.
        guides: What people wrote for agents in that directory.
    """
    return Surroundings(
        cwd=settings.cwd,
        shell=os.path.basename(settings.shell),
        current_date=datetime.fromtimestamp(now, _zone(settings.timezone)).date().isoformat(),
        timezone=settings.timezone,
        approval_policy=settings.approval_policy,
        sandbox_policy=settings.sandbox_policy or ReadOnly(),
        model=settings.model.slug,
        developer_instructions=settings.developer_instructions,
        guides=guides,
    )


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def _first_state(
    work: Work,
    mail: tuple[Entry, ...],
    thread: Thread,
    gates: Mapping[str, Gate],
    now: Surroundings,
) -> Turn:
    texts = thread.texts
    told = (
        core.initial_context(now, texts)
        if thread.told is None
        else core.context_updates(thread.told, now, texts)
    )
    return Turn(
        id=work.turn_id,
        context=tuple(map(Entry, told)),
        pending=(*work.entries, *mail),
        gates=gates,
        max_retries=thread.settings.provider.stream_max_retries,
        tokens=thread.tokens,
        limits=thread.limits,
        marker=_marker(thread),
    )


def _marker(thread: Thread) -> Entry | None:
    collaboration = thread.settings.collaboration
    if not collaboration.marks_interrupts:
        return None
    role: Literal["user", "developer"] = "developer" if collaboration.generation == "v2" else "user"
    return Entry(core.aborted_marker(thread.texts, role=role))


def _tool_context(work: Work, thread: Thread, sessions: ExecSessions, slot: Slot) -> ToolContext:
    return ToolContext(
        settings=thread.settings,
        thread_id=thread.id,
        turn_id=work.turn_id,
        announce=thread.hear,
        now=thread.services.now,
        sessions=sessions,
        changes=TurnChanges(),
        waiting=slot.waiting,
        guard=guard_for(thread, work.turn_id, slot),
    )


def _make_prompt(work: Work, thread: Thread, specs: bytes) -> Prompt:
    settings = thread.settings
    model = settings.model
    summary = settings.summary or model.default_summary
    return Prompt(
        model=model.slug,
        input=thread.history.request_input(),
        tools=specs,
        effort=settings.effort or model.default_effort,
        summary=None if summary == "none" or not model.supports_summary else summary,
        verbosity=(settings.verbosity or model.default_verbosity)
        if model.supports_verbosity
        else None,
        service_tier=settings.service_tier,
        output_schema=work.op.output_schema or settings.output_schema,
        session_id=thread.session_id,
        thread_id=thread.id,
        turn_id=work.turn_id,
        originator=settings.originator,
        metadata=encode_json(
            {
                "session_id": thread.session_id,
                "thread_id": thread.id,
                "turn_id": work.turn_id,
                **dict(_origin(thread)),
            }
        ),
        headers=_origin(thread),
    )


def _origin(thread: Thread) -> tuple[tuple[str, str], ...]:
    """Say whose child asks, as the reference does in headers and in metadata."""
    if thread.parent_id is None:
        return ()
    return (("x-codex-parent-thread-id", thread.parent_id), ("x-openai-subagent", "collab_spawn"))


def _context_line(turn_id: str, settings: Settings, now: Surroundings) -> TurnContext:
    return TurnContext(
        turn_id=turn_id,
        cwd=now.cwd,
        approval_policy=now.approval_policy,
        sandbox_policy=now.sandbox_policy,
        model=now.model,
        effort=settings.effort,
        summary=settings.summary or settings.model.default_summary,
        current_date=now.current_date,
        timezone=now.timezone,
        multi_agent_version=settings.collaboration.generation or "disabled",
    )
