"""Making the thread of an agent: a new one, or one that a rollout holds."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

import attrs
import trio

from .. import core
from .._version import __version__
from ..core import Entry, Replayed, Surroundings
from ..protocol import (
    DangerFullAccess,
    EventLine,
    Item,
    Recorded,
    SessionConfigured,
    SessionMeta,
    TokenUsageInfo,
    ToolCall,
    ToolOutput,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    WarningRaised,
    developer_message,
)
from ..rollout import EmptyRollout, Recorder, Rollout, RolloutStore, time_stamp
from ..wire import encode_item
from ._commons import Commons
from ._delivered import delivered_ids, delivery_line
from ._desk import Desk
from ._history import History
from ._prompts import read_prompt
from ._setup import surroundings
from ._thread import Thread


async def load_thread(commons: Commons, desk: Desk) -> Thread:
    """Return the memory of an agent that is needed: a new one, or what its rollout says.

    Raises:
        RolloutError: if its rollout cannot be read.

    Cancellation: nothing has happened.
    """
    rollout = await _read(commons.recorder, desk)
    replayed = None if rollout is None else core.replay(rollout.lines)
    thread = _thread(commons, desk, replayed)
    forked = bool(desk.inherited)
    if replayed is None:
        thread.keep(_meta(thread, desk))
        _inherit(thread, desk)
    if not desk.begun:
        thread.announce(_configured(thread))
        _warn_of_guesses(thread, desk)
    if rollout is not None and replayed is not None:
        if not desk.begun:
            _warn_of_problems(thread, rollout)
        delivered = set(delivered_ids(rollout.lines))
        torn = _torn_delivery(commons, desk, rollout, delivered)
        if torn is not None:
            thread.keep(delivery_line(torn))
            delivered.add(torn)
        _take_up(thread, replayed)
        if replayed.unsettled_turn_id is None and thread.hub.status(thread.id).get() == "running":
            _tell_again(thread, rollout)
        await commons.books.note_delivered(desk, sorted(delivered), "")
    desk.begun = True
    desk.tokens = thread.tokens
    if replayed is None and not forked and desk.parent is not None:
        # The journal has the agent already. Its file comes with whatever is written next; but
        # a root is found by its file, when it is resumed.
        thread.release()
        await trio.lowlevel.checkpoint()
    else:
        await thread.settle()
    return thread


async def _read(recorder: Recorder, desk: Desk) -> Rollout | None:
    """Return what is recorded of a thread that goes on; None for a new one."""
    if desk.begun:
        return await recorder.read(desk.thread_id)
    if desk.stored is None:
        await trio.lowlevel.checkpoint()
        return None
    try:
        rollout = await RolloutStore(desk.settings.home).read(desk.stored)
    except EmptyRollout:
        # Its program was killed between making the file and the first line.
        if desk.parent is None:
            raise
        return None
    recorder.adopt(desk.thread_id, desk.stored, next_ordinal=rollout.next_ordinal)
    return rollout


def _torn_delivery(
    commons: Commons, desk: Desk, rollout: Rollout, delivered: Container[str]
) -> str | None:
    """Return the mail that is the last the rollout has, if its delivery line was torn off.

    A kill in the middle of a write, or a full disk before it, may leave the one without the other.
    """
    last = rollout.lines[-1].payload
    if not isinstance(last, Recorded):
        return None
    waiting = (mail for mail in desk.box.values() if mail.id not in delivered)
    return next(
        (mail.id for mail in waiting if commons.post.entry(desk, mail).item == last.item), None
    )


def _inherit(thread: Thread, desk: Desk) -> None:
    """Begin with what the owner's conversation gives along. Nobody is told: it is old."""
    inherited, desk.inherited = desk.inherited, ()
    thread.told, desk.inherited_told = desk.inherited_told, None
    for item in inherited:
        thread.keep(Recorded(item, thread.history.append(item)))


def _warn_of_problems(thread: Thread, rollout: Rollout) -> None:
    for problem in rollout.problems:
        if not problem.torn:
            thread.announce(
                WarningRaised(
                    f"line {problem.number} of the rollout was passed over: {problem.reason}"
                )
            )


def _thread(commons: Commons, desk: Desk, replayed: Replayed | None) -> Thread:
    kept = None if replayed is None or replayed.meta is None else replayed.meta.base_instructions
    base = desk.settings.base_instructions or kept or _base_prompt()
    return Thread(
        id=desk.thread_id,
        path=desk.path,
        session_id=desk.root.thread_id,
        parent_id=None if desk.parent is None else desk.parent.thread_id,
        settings=desk.settings,
        history=History([_spell_base(base)]),
        commons=commons,
        account=desk.account,
        tools=desk.spec.tools,
        without_tools=() if desk.spec.role is None else desk.spec.role.without_tools,
        base_instructions=base,
        tokens=TokenUsageInfo(model_context_window=desk.settings.model.usable_context_window),
    )


@lru_cache(maxsize=1)
def _base_prompt() -> str:
    return read_prompt("base")


@lru_cache(maxsize=16)  # ten thousand agents begin with the same words
def _spell_base(text: str) -> bytes:
    return encode_item(developer_message(text))


def _meta(thread: Thread, desk: Desk) -> SessionMeta:
    owner = desk.parent
    role = None if desk.spec.role is None else desk.spec.role.name
    return SessionMeta(
        id=thread.id,
        session_id=thread.session_id,
        timestamp=time_stamp(thread.services.now()),
        cwd=desk.settings.cwd,
        originator=desk.settings.originator,
        cli_version=__version__,
        source=desk.settings.source if owner is None else _spawned(desk, owner, role),
        thread_source="user" if owner is None else "subagent",
        model_provider=desk.settings.provider.id,
        base_instructions=thread.base_instructions,
        parent_thread_id=None if owner is None else owner.thread_id,
        agent_path=None if owner is None else desk.path.text,
        agent_role=role,
        agent_nickname=desk.spec.nickname,
        multi_agent_version=_version(desk),
        forked_from_id=None if owner is None or desk.spec.fork == "none" else owner.thread_id,
    )


def _version(desk: Desk) -> str | None:
    """Which tools for agents the thread has, as far as that is not just what is usual."""
    collaboration = desk.settings.collaboration
    if desk.parent is None and not collaboration.chosen:
        return None
    return collaboration.generation or "disabled"


def _spawned(desk: Desk, owner: Desk, role: str | None) -> Any:
    """Say who made the thread, as the reference spells it (multi-agent, 3.1)."""
    spawn: dict[str, Any] = {
        "parent_thread_id": owner.thread_id,
        "depth": desk.path.depth,
        "agent_path": desk.path.text,
        "agent_nickname": desk.spec.nickname,
        "agent_role": role,
    }
    return {"subagent": {"thread_spawn": spawn}}


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


def _warn_of_guesses(thread: Thread, desk: Desk) -> None:
    model = thread.settings.model
    told = desk.parent is not None and desk.parent.settings.model.slug == model.slug
    if model.is_fallback and not told:
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


def _tell_again(thread: Thread, rollout: Rollout) -> None:
    """Tell how the last turn ended: its agent crashed when that was recorded and not yet told."""
    said = [line.payload.msg for line in rollout.lines if isinstance(line.payload, EventLine)]
    ends = [msg for msg in said if isinstance(msg, TurnCompleted | TurnAborted)]
    if ends:
        thread.repeat(ends[-1])


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
