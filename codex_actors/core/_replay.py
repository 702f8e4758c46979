"""The state of a thread, from the lines of its rollout: for resuming and for forking.

Lines may come in both history modes and from any version: what a line does not say is passed
over. Held by tests/core/test_replay.py: replaying what was recorded gives what was lived, cut
at any line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from ..protocol import (
    Compacted,
    EventLine,
    EventMsg,
    Item,
    Message,
    OtherItem,
    RateLimits,
    Recorded,
    RolloutLine,
    SessionMeta,
    SettingsApplied,
    TokensCounted,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    TurnStarted,
    UnknownEvent,
    UnknownLine,
    user_message,
)
from ._history import is_user_turn, rollback_point

LEGACY_BYTES: Final = 80_000
"""Bytes of users' messages kept from before a compaction that does not say what it kept.

The reference keeps 20,000 tokens, at four bytes each.
"""

# Items that rollouts may hold and no model is ever sent.
_NEVER_SENT: Final = frozenset({"ghost_snapshot", "compaction_trigger", "additional_tools"})


@attrs.frozen(kw_only=True)
class Replayed:
    """A thread as its rollout left it."""

    meta: SessionMeta | None = None
    items: tuple[Item, ...] = ()
    """The history as recorded; `normalize` it before it is sent."""
    token_info: TokenUsageInfo | None = None
    rate_limits: RateLimits | None = None
    settings: SettingsApplied | None = None
    """The settings that were applied last."""
    turn_context: TurnContext | None = None
    """The settings of the last turn that was not taken back."""
    told: TurnContext | None = None
    """The same, while the history still says them; None when a compaction dropped them."""
    unsettled_turn_id: str | None = None
    """The turn that began and did not end, if its process died."""


def replay(lines: Iterable[RolloutLine]) -> Replayed:
    """The state of the thread after these lines, oldest first."""
    return _Replay().run(lines)


@attrs.define
class _Replay:
    """The state while lines are read. It never leaves `replay`."""

    meta: SessionMeta | None = None
    items: list[Item] = attrs.field(factory=list)
    contexts: list[tuple[int, TurnContext]] = attrs.field(factory=list)
    """Each turn's settings, and how many items there were before it."""
    compacted_contexts: int = 0
    """How many of these were from before the last compaction."""
    tokens: TokenUsageInfo | None = None
    limits: RateLimits | None = None
    settings: SettingsApplied | None = None
    unsettled: str | None = None

    def run(self, lines: Iterable[RolloutLine]) -> Replayed:
        for line in lines:
            self._read(line)
        last = self.contexts[-1][1] if self.contexts else None
        return Replayed(
            meta=self.meta,
            items=tuple(self.items),
            token_info=self.tokens,
            rate_limits=self.limits,
            settings=self.settings,
            turn_context=last,
            told=last if len(self.contexts) > self.compacted_contexts else None,
            unsettled_turn_id=self.unsettled,
        )

    def _read(self, line: RolloutLine) -> None:
        match line.payload:
            case SessionMeta() as meta:
                # A fork may carry the first line of its source as well; its own comes first.
                self.meta = self.meta or meta
            case TurnContext() as context:
                self.contexts.append((len(self.items), context))
            case Recorded(item):
                if _belongs(item):
                    self.items.append(item)
            case Compacted() as compacted:
                self._compact(compacted)
            case EventLine(msg):
                self._hear(msg)
            case UnknownLine():
                pass

    def _compact(self, compacted: Compacted) -> None:
        if compacted.replacement_history is None:
            self.items = legacy_compaction(self.items, compacted.message)
        else:
            self.items = [item for item in compacted.replacement_history if _belongs(item)]
        self.contexts = [(0, context) for _, context in self.contexts]
        self.compacted_contexts = len(self.contexts)

    def _hear(self, msg: EventMsg) -> None:
        match msg:
            case TokensCounted(info, limits):
                self.tokens, self.limits = info or self.tokens, limits or self.limits
            case SettingsApplied():
                self.settings = msg
            case TurnStarted(turn_id=turn_id):
                self.unsettled = turn_id
            case TurnCompleted(turn_id=turn_id) | TurnAborted(turn_id=turn_id):
                if turn_id in (None, self.unsettled):
                    self.unsettled = None
            case UnknownEvent("thread_rolled_back", {"num_turns": int(turns)}):
                self._roll_back(turns)
            case _:
                pass

    def _roll_back(self, turns: int) -> None:
        point = rollback_point(self.items, turns)
        if point == len(self.items):
            return
        del self.items[point:]
        old = self.compacted_contexts
        self.contexts = self.contexts[:old] + [
            (before, context) for before, context in self.contexts[old:] if before < point
        ]


def legacy_compaction(items: Sequence[Item], summary: str) -> list[Item]:
    """The history after a compaction whose line does not carry it.

    That is what users said last, as much as `LEGACY_BYTES` hold, and the summary.
    """
    said = [item for item in items if is_user_turn(item)]
    return [*reversed(list(_within(said, LEGACY_BYTES))), user_message(summary)]


def _within(messages: Sequence[Item], budget: int) -> Iterator[Item]:
    """The last of the messages that fit together, newest first."""
    for item in reversed(messages):
        budget -= len(item.text.encode("utf-8", "replace")) if isinstance(item, Message) else 0
        if budget < 0:
            return
        yield item


def _belongs(item: Item) -> bool:
    match item:
        case OtherItem(tag, _):
            return tag not in _NEVER_SENT
        case Message(role="system"):
            return False
        case _:
            return True
