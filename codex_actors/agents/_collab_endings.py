"""What people are shown when an agent that has a path has finished, beside whoever gave the task."""

from __future__ import annotations

from ..core import flat_events, is_kept
from ..protocol import (
    AgentActivityItem,
    Event,
    EventLine,
    EventMsg,
    ItemCompleted,
    ItemStarted,
    TaskCompleted,
    TaskRecord,
)
from ._commons import Commons
from ._desk import Desk


def show_completion(commons: Commons, giver: Desk, record: TaskRecord) -> None:
    """Show the giver's followers that a task of the second generation is done.

    As in the reference, only answers are shown: of tasks that failed or were interrupted, the
    giver is told. Not a checkpoint.
    """
    if record.generation != "v2" or not isinstance(record.outcome, TaskCompleted):
        return
    item = AgentActivityItem(
        id=f"subagent-completed-{record.turn_id}",
        kind="completed",
        agent_thread_id=record.thread_id,
        agent_path=record.path.text,
    )
    now, turn_id = commons.services.now_ms(), giver.last_turn
    began = ItemStarted(thread_id=giver.thread_id, turn_id=turn_id, item=item, started_at_ms=now)
    ended = ItemCompleted(
        thread_id=giver.thread_id,
        turn_id=turn_id,
        item=item,
        started_at_ms=now,
        completed_at_ms=now,
    )
    for msg in (began, ended):
        _announce(commons, giver, msg)


def _announce(commons: Commons, giver: Desk, msg: EventMsg) -> None:
    thread = None if giver.life is None else giver.life.thread
    if thread is None:
        _announce_unloaded(commons, giver, msg)
    elif giver.run is None or giver.run.finished:
        thread.tell(msg)
    else:
        # The turn tells of it when it is next written: not through its inbox, which nobody
        # reads any more once the turn is over.
        thread.announce(msg)


def _announce_unloaded(commons: Commons, giver: Desk, msg: EventMsg) -> None:
    told = (msg, *flat_events(msg))
    if giver.begun:
        for each in filter(is_kept, told):
            commons.recorder.append(giver.thread_id, EventLine(each))
    events = [Event(id="", msg=m, thread_id=giver.thread_id, path=giver.path) for m in told]
    commons.hub.publish(giver.thread_id, events)
