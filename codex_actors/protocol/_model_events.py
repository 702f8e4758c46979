"""What a model's response consists of, piece by piece, as it streams in."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ._items import Item
from ._usage import RateLimits, TokenUsage


@attrs.frozen
class ResponseCreated:
    """The provider accepted the request."""

    response_id: str


@attrs.frozen
class ItemAdded:
    """The model began an item; its content follows in deltas."""

    item: Item


@attrs.frozen
class ItemDone:
    """The model finished an item."""

    item: Item
    encoded: bytes | None = attrs.field(default=None, eq=False, repr=False)
    """The item's JSON as the provider sent it, so that it need not be encoded again."""


@attrs.frozen
class TextDelta:
    """A piece of an agent message."""

    delta: str
    item_id: str = ""


@attrs.frozen
class ReasoningSummaryDelta:
    """A piece of a reasoning summary."""

    delta: str
    summary_index: int = 0
    item_id: str = ""


@attrs.frozen
class ReasoningSummaryPartAdded:
    """The next part of a reasoning summary begins."""

    summary_index: int
    item_id: str = ""


@attrs.frozen
class ReasoningContentDelta:
    """A piece of raw reasoning."""

    delta: str
    content_index: int = 0
    item_id: str = ""


@attrs.frozen
class ToolInputDelta:
    """A piece of a custom tool's input."""

    delta: str
    item_id: str = ""
    call_id: str | None = None


@attrs.frozen
class RateLimitsSeen:
    """The provider said how much of its limits is used."""

    limits: RateLimits


@attrs.frozen
class ServerModelSeen:
    """The provider said which model answers."""

    model: str


@attrs.frozen
class ResponseCompleted:
    """The response is whole; always the last event of a stream that ended well."""

    response_id: str
    usage: TokenUsage | None = None
    end_turn: bool | None = None
    """False: the provider wants to be asked again, although there was no tool call."""


ModelEvent: TypeAlias = (
    ResponseCreated
    | ItemAdded
    | ItemDone
    | TextDelta
    | ReasoningSummaryDelta
    | ReasoningSummaryPartAdded
    | ReasoningContentDelta
    | ToolInputDelta
    | RateLimitsSeen
    | ServerModelSeen
    | ResponseCompleted
)
