"""Many small events that came between two frames, made into few. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import attrs

from ..protocol import AgentMessageDelta, CommandOutput, EventMsg, ReasoningDelta


def merge(msgs: Iterable[EventMsg]) -> Iterator[EventMsg]:
    """Yield events that say the same, with pieces that follow each other made one."""
    for key, group in itertools.groupby(msgs, _kind):
        if key is None:
            yield from group
        else:
            first, *others = group
            yield _joined(first, others)


def _kind(msg: EventMsg) -> tuple[object, ...] | None:
    """Return what pieces that belong together have in common."""
    match msg:
        case AgentMessageDelta(item_id=item_id):
            return AgentMessageDelta, item_id
        case ReasoningDelta(item_id=item_id, summary_index=index):
            return ReasoningDelta, item_id, index
        case CommandOutput(call_id=call_id):
            return CommandOutput, call_id
        case _:
            return None


def _joined(first: EventMsg, others: Iterable[EventMsg]) -> EventMsg:
    match first:
        case AgentMessageDelta(delta=delta) | ReasoningDelta(delta=delta):
            deltas = [o.delta for o in others if isinstance(o, type(first))]
            return attrs.evolve(first, delta="".join((delta, *deltas)))
        case CommandOutput(chunk=chunk):
            chunks = [o.chunk for o in others if isinstance(o, CommandOutput)]
            return attrs.evolve(first, chunk=b"".join((chunk, *chunks)))
        case _:
            return first
