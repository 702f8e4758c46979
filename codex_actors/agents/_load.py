"""Making the thread of an agent: a new one, or one that a rollout holds."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from .. import core
from .._version import __version__
from ..core import ContextTexts, Entry, Replayed, Surroundings
from ..protocol import (
    DangerFullAccess,
    Item,
    SessionConfigured,
    SessionMeta,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnContext,
    WarningRaised,
    developer_message,
)
from ..rollout import Recorder, Rollout, RolloutStore, time_stamp
from ._desk import Desk
from ._history import History
from ._hub import Hub
from ._prompts import read_prompt
from ._services import AgentServices
from ._setup import surroundings
from ._spec import AgentSpec
from ._thread import Thread


async def load_thread(
    services: AgentServices,
    recorder: Recorder,
    hub: Hub,
    texts: ContextTexts,
    desk: Desk,
    spec: AgentSpec,
) -> Thread:
    """Return the thread of an agent that starts, or starts again.

    Raises:
        ThreadNotFound: if it is to be resumed, and there is no such thread.
        RolloutError: if its rollout cannot be read.

    Cancellation: nothing has happened.
    """
    rollout = await _read(recorder, desk, spec)
    replayed = None if rollout is None else core.replay(rollout.lines)
    thread = _thread(services, recorder, hub, texts, desk, replayed)
    thread.tools = spec.tools
    if replayed is None:
        thread.keep(_meta(thread, desk))
    thread.announce(_configured(thread))
    _warn_of_guesses(thread)
    if rollout is not None and replayed is not None:
        _warn_of_problems(thread, rollout)
        _take_up(thread, replayed)
    desk.begun = True
    desk.tokens = thread.tokens
    await thread.settle()
    return thread


async def _read(recorder: Recorder, desk: Desk, spec: AgentSpec) -> Rollout | None:
    """Return what is recorded of a thread that goes on; None for a new one."""
    if desk.begun:
        return await recorder.read(desk.thread_id)
    if spec.resume is None:
        return None
    store = RolloutStore(desk.settings.home)
    path = await store.find(desk.thread_id)
    rollout = await store.read(path)
    recorder.adopt(desk.thread_id, path, next_ordinal=rollout.next_ordinal)
    return rollout


def _warn_of_problems(thread: Thread, rollout: Rollout) -> None:
    for problem in rollout.problems:
        if not problem.torn:
            thread.announce(
                WarningRaised(
                    f"line {problem.number} of the rollout was passed over: {problem.reason}"
                )
            )


def _thread(
    services: AgentServices,
    recorder: Recorder,
    hub: Hub,
    texts: ContextTexts,
    desk: Desk,
    replayed: Replayed | None,
) -> Thread:
    kept = None if replayed is None or replayed.meta is None else replayed.meta.base_instructions
    base = desk.settings.base_instructions or kept or read_prompt("base")
    return Thread(
        id=desk.thread_id,
        path=desk.path,
        session_id=desk.thread_id,
        settings=desk.settings,
        history=History([developer_message(base)]),
        services=services,
        recorder=recorder,
        hub=hub,
        texts=texts,
        base_instructions=base,
        tokens=TokenUsageInfo(model_context_window=desk.settings.model.usable_context_window),
    )


def _meta(thread: Thread, desk: Desk) -> SessionMeta:
    return SessionMeta(
        id=thread.id,
        session_id=thread.session_id,
        timestamp=time_stamp(thread.services.now()),
        cwd=desk.settings.cwd,
        originator=desk.settings.originator,
        cli_version=__version__,
        source=desk.settings.source,
        thread_source="user",
        model_provider=desk.settings.provider.id,
        base_instructions=thread.base_instructions,
    )


def _configured(thread: Thread) -> SessionConfigured:
    settings = thread.settings
    return SessionConfigured(
        session_id=thread.session_id,
        thread_id=thread.id,
        model=settings.model.slug,
        model_provider_id=settings.provider.id,
        approval_policy=settings.approval_policy,
        sandbox_policy=settings.sandbox_policy or DangerFullAccess(),
        cwd=settings.cwd,
        reasoning_effort=settings.effort,
        rollout_path=thread.recorder.path(thread.id),
    )


def _warn_of_guesses(thread: Thread) -> None:
    model = thread.settings.model
    if model.is_fallback:
        thread.announce(
            WarningRaised(
                f"Model metadata for {model.slug!r} is not known, so its limits are guessed; say"
                f' them under [models."{model.slug}"] in config.toml'
            )
        )


def _take_up(thread: Thread, replayed: Replayed) -> None:
    """Make the thread what its rollout says; a turn that was cut off ends as interrupted."""
    for item in replayed.items:
        thread.history.append(item)
    thread.tokens = attrs.evolve(
        replayed.token_info or thread.tokens,
        model_context_window=thread.settings.model.usable_context_window,
    )
    thread.limits = replayed.rate_limits
    if replayed.told is not None:
        thread.told = _told(thread, replayed.told, replayed.items)
    if replayed.unsettled_turn_id is not None:
        _end_cut_off_turn(thread, replayed.items, replayed.unsettled_turn_id)


def _told(thread: Thread, context: TurnContext, items: Sequence[Item]) -> Surroundings:
    """What the model was told last, as far as the rollout says."""
    guides = core.find_guides(items, thread.texts)
    now = surroundings(thread.settings, thread.services.now(), guides)
    return attrs.evolve(
        now,
        cwd=context.cwd,
        approval_policy=context.approval_policy,
        sandbox_policy=context.sandbox_policy,
        model=context.model,
        current_date=context.current_date or now.current_date,
        timezone=context.timezone or now.timezone,
    )


def _end_cut_off_turn(thread: Thread, items: Sequence[Item], turn_id: str) -> None:
    for call in core.unanswered(items):
        if not isinstance(call, ToolCall):
            continue  # of a kind that no tool of ours answers; requests fill it in
        output = ToolOutput(call_id=call.call_id, output="aborted", kind=call.kind, ok=False)
        thread.record(Entry(output), turn_id)
    thread.record(Entry(core.aborted_marker(thread.texts, cut_off=True)), turn_id)
    thread.announce(TurnAborted(turn_id=turn_id, reason="interrupted", interrupted_by="restart"))
