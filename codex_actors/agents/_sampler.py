"""One sampling: a request to the model, and its stream turned into inputs of the turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

import attrs

from ..core import (
    Entry,
    Failure,
    ItemReceived,
    LimitsSeen,
    SamplingDone,
    SamplingFailed,
    TurnInput,
    is_unreadable,
    shown_as,
)
from ..models import ModelClient, ModelError, ModelProtocolError, Prompt
from ..protocol import (
    AgentMessageDelta,
    ErrorInfo,
    EventMsg,
    Item,
    ItemAdded,
    ItemDone,
    ItemStarted,
    ModelEvent,
    OtherItem,
    RateLimitsSeen,
    RawReasoningDelta,
    ReasoningContentDelta,
    ReasoningDelta,
    ReasoningSectionBroke,
    ReasoningSummaryDelta,
    ReasoningSummaryPartAdded,
    ResponseCompleted,
    ServerModelSeen,
    TextDelta,
    WarningRaised,
)
from ._services import AgentServices

Post: TypeAlias = Callable[[TurnInput | EventMsg], None]
"""Hands an input, or an event to announce, to the turn's runner. Not a checkpoint."""


@final
@attrs.define(eq=False, kw_only=True)
class Sampler:
    """Turns one response into inputs of the turn and events for those who follow it."""

    sampling: int
    thread_id: str
    turn_id: str
    services: AgentServices
    post: Post
    _active: str = ""
    """Id of the item that deltas belong to."""
    _completed: bool = False

    async def run(self, prompt: Prompt) -> None:
        """Ask the model once; whatever happens becomes an input.

        Cancellation: closes the connection; nothing more is posted.
        """
        try:
            await self._stream(self.services.model, prompt)
        except ModelError as exc:
            self.post(SamplingFailed(self.sampling, _failure(exc), self.services.jitter()))

    async def _stream(self, model: ModelClient, prompt: Prompt) -> None:
        async with model.stream(prompt) as events:
            async for event in events:
                self._handle(event, prompt)
        if not self._completed:
            # Nothing else would ever end the turn.
            raise ModelProtocolError("the model client's stream ended before ResponseCompleted")

    def _handle(self, event: ModelEvent, prompt: Prompt) -> None:
        match event:
            case TextDelta(delta):
                # Without `_where`: there are as many of these as of all others together.
                self.post(
                    AgentMessageDelta(
                        delta=delta,
                        thread_id=self.thread_id,
                        turn_id=self.turn_id,
                        item_id=self._active,
                    )
                )
            case ItemAdded(item):
                self._start(item)
            case ItemDone(item):
                self._finish(item)
            case ResponseCompleted(usage=usage, end_turn=end_turn):
                self._completed = True
                self.post(SamplingDone(self.sampling, usage, end_turn))
            case RateLimitsSeen(limits):
                self.post(LimitsSeen(limits))
            case ReasoningSummaryDelta(delta, index):
                self.post(ReasoningDelta(delta=delta, summary_index=index, **self._where()))
            case ReasoningContentDelta(delta, index):
                self.post(RawReasoningDelta(delta=delta, content_index=index, **self._where()))
            case ReasoningSummaryPartAdded(index):
                self.post(ReasoningSectionBroke(self._active, index))
            case ServerModelSeen(model) if model != prompt.model:
                self.post(WarningRaised(f"{prompt.model} was asked, and {model} answers"))
            case _:
                pass

    def _where(self) -> dict[str, str]:
        return {"thread_id": self.thread_id, "turn_id": self.turn_id, "item_id": self._active}

    def _start(self, item: Item) -> None:
        self._active = getattr(item, "id", None) or self.services.new_id()
        shown = shown_as(item, self._active)
        if shown is not None:
            self.post(
                ItemStarted(
                    thread_id=self.thread_id,
                    turn_id=self.turn_id,
                    item=shown,
                    started_at_ms=self.services.now_ms(),
                )
            )

    def _finish(self, item: Item) -> None:
        if is_unreadable(item):
            # In the history it would spoil every later request: it can have no answer.
            kind = item.type if isinstance(item, OtherItem) else "item"
            self.post(
                WarningRaised(f"the model sent a {kind!r} that cannot be read; it is dropped")
            )
            return
        shown = shown_as(item, self._active)
        if shown is not None and (not self._active or shown.id != self._active):
            self._start(item)
            shown = shown_as(item, self._active)
        self.post(ItemReceived(self.sampling, Entry(item, shown)))
        self._active = ""


def _failure(error: ModelError) -> Failure:
    return Failure(
        message=str(error),
        info=ErrorInfo(kind=error.kind, http_status_code=error.status),
        retryable=error.retryable,
        delay=error.retry_after,
    )
