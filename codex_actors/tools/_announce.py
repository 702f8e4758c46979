"""Telling the world what a tool is at, in the form that people follow."""

from __future__ import annotations

from ..protocol import ItemCompleted, ItemStarted, TurnItem
from ._tool import ToolContext


def announce_started(item: TurnItem, context: ToolContext) -> int:
    """Announce that a visible piece of work began; return when, in Unix milliseconds."""
    now = _milliseconds(context)
    context.announce(
        ItemStarted(
            thread_id=context.thread_id, turn_id=context.turn_id, item=item, started_at_ms=now
        )
    )
    return now


def announce_completed(item: TurnItem, context: ToolContext, *, started_at_ms: int) -> None:
    """Announce that a visible piece of work is over, well or not."""
    context.announce(
        ItemCompleted(
            thread_id=context.thread_id,
            turn_id=context.turn_id,
            item=item,
            started_at_ms=started_at_ms,
            completed_at_ms=_milliseconds(context),
        )
    )


def _milliseconds(context: ToolContext) -> int:
    return int(context.now() * 1000)
