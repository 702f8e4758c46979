"""Bringing back a tree that an earlier process left: its agents, their mail, their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import final

import attrs
import trio

from ..protocol import RolloutLine, TaskInterrupted, TaskRecord, ThreadId
from ..rollout import AgentEdge, RolloutStore, UnreadableRollout, read_tail
from ._commons import Commons
from ._desk import Desk
from ._last_words import last_interrupter, last_status, last_usage
from ._plan import read_plan, settings_of, spec_of
from ._spawn import add_desk, make_desk
from ._spec import AgentSpec
from ._task import Task


@final
@attrs.frozen
class Revived:
    """What came back with a root."""

    unfinished: tuple[Task, ...] = ()
    """Tasks that are open and not being run."""
    restarted: tuple[Task, ...] = ()
    """Tasks that are run again."""
    warnings: tuple[str, ...] = ()


async def revive(commons: Commons, root: Desk) -> Revived:
    """Give every agent of the journal its desk, its mail and its unfinished tasks.

    Nothing runs yet. Agents are loaded when they are first needed.

    Cancellation: some desks may be there.
    """
    spec = root.spec
    desks = _make_desks(commons, root)
    unreadable = await _restore_states(commons, [root, *desks])
    await _restore_gone(commons)
    for desk in (root, *desks):
        for letter in commons.books.journal.letters(desk.thread_id):
            desk.box[letter.id] = letter
        for record in commons.books.journal.news(desk.thread_id):
            desk.box[record.id] = record
    left, restarted = await _restore_tasks(commons, spec)
    _restore_wakes(commons, spec, (root, *desks))
    damaged = [
        f"the tree's journal, {p}; it was passed over" for p in commons.books.journal.state.problems
    ]
    return Revived(tuple(left), tuple(restarted), (*damaged, *unreadable, *_warn_of(left)))


def _make_desks(commons: Commons, root: Desk) -> list[Desk]:
    """Make desks, owners first; an agent whose owner is not known cannot be owned."""
    made: dict[ThreadId, Desk] = {root.thread_id: root}
    waiting: list[AgentEdge] = list(commons.books.journal.agents.values())
    while waiting:
        ready = [e for e in waiting if e.parent_thread_id in made and e.thread_id not in made]
        waiting = [e for e in waiting if e.parent_thread_id not in made]
        for edge in ready:
            owner = made[ThreadId(str(edge.parent_thread_id))]
            if edge.path.name not in owner.children and edge.path.parent == owner.path:
                made[edge.thread_id] = _make_desk(commons, owner, edge, root.spec)
        if not ready:
            break
    return list(made.values())[1:]


def _make_desk(commons: Commons, owner: Desk, edge: AgentEdge, spec: AgentSpec) -> Desk:
    plan = read_plan(edge)
    own = spec_of(plan, edge.path, spec.tools_below(edge.path))
    desk = make_desk(commons, owner, edge.path, own, settings_of(plan, owner.settings))
    desk.thread_id, desk.dormant = edge.thread_id, True
    add_desk(commons, desk)
    return desk


async def _restore_states(commons: Commons, desks: Iterable[Desk]) -> Sequence[str]:
    """Read from the ends of rollouts how agents were left; return what cannot be read.

    Who has such a rollout fails when it is needed, and keeps nobody else from coming back.
    """
    desks = tuple(desks)
    names = [desk.thread_id for desk in desks]
    paths = await RolloutStore(commons.settings.home).find_all(names)
    tails, problems = await trio.to_thread.run_sync(_read_tails, paths)
    for desk in desks:
        desk.stored = paths.get(desk.thread_id)
        lines = tails.get(desk.thread_id, ())
        desk.tokens = last_usage(lines) or desk.tokens
        # Owners come first, and who stops an agent stops all below it.
        above = None if desk.parent is None else desk.parent.fence
        desk.fence = last_interrupter(lines) or above
        commons.hub.status(desk.thread_id).set(last_status(lines))
    return problems


async def _restore_gone(commons: Commons) -> None:
    """Read what agents had used that were closed. Of those that cannot be read, nothing counts."""
    closed = [name for name in commons.books.journal.closed if name not in commons.desks]
    if not closed:
        await trio.lowlevel.checkpoint()
        return
    paths = await RolloutStore(commons.settings.home).find_all(closed)
    tails, _ = await trio.to_thread.run_sync(_read_tails, paths)
    for name, lines in tails.items():
        info = last_usage(lines)
        if info is not None:
            commons.gone[name] = info.total_token_usage


def _read_tails(
    paths: Mapping[ThreadId, str],
) -> tuple[Mapping[ThreadId, tuple[RolloutLine, ...]], Sequence[str]]:
    tails: dict[ThreadId, tuple[RolloutLine, ...]] = {}
    problems: list[str] = []
    for thread_id, path in paths.items():
        try:
            tails[thread_id] = read_tail(path)
        except UnreadableRollout as error:
            problems.append(str(error))
    return tails, problems


async def _restore_tasks(commons: Commons, spec: AgentSpec) -> tuple[list[Task], list[Task]]:
    """Queue the unfinished tasks that are to be run again; return the others, and them."""
    left, restarted = [], []
    for record in commons.books.journal.unsettled():
        desk = commons.desks.get(record.thread_id)
        if desk is None or not record.text.strip():
            await commons.books.settle(record.id, TaskInterrupted("restart"))
            continue
        task = Task(commons.books.take_up(record), desk, commons)
        if _wish(spec, record) == "restart":
            await task.restart()
            restarted.append(task)
        else:
            left.append(task)
    await trio.lowlevel.checkpoint()
    return left, restarted


def _wish(spec: AgentSpec, record: TaskRecord) -> str:
    return spec.unfinished(record) if callable(spec.unfinished) else spec.unfinished


def _restore_wakes(commons: Commons, spec: AgentSpec, desks: Iterable[Desk]) -> None:
    """Have letters read that were to start a turn, unless what was unfinished stays so."""
    if spec.unfinished == "restart":
        for desk in desks:
            commons.post.after_turn(desk)


def _warn_of(left: Iterable[Task]) -> tuple[str, ...]:
    paths = Counter(str(task.record.get().path) for task in left)
    if not paths:
        return ()
    few = [path if count == 1 else f"{path} ({count})" for path, count in paths.items()][:8]
    what = (
        "1 unfinished task was" if paths.total() == 1 else f"{paths.total()} unfinished tasks were"
    )
    where = ", ".join(few) + (", ..." if len(paths) > len(few) else "")
    return (f"{what} left open: {where}; unless restarted, they end as interrupted with the tree",)
