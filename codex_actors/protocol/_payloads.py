"""The payloads of a response stream: between how they are spelled and what they mean."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ._model_events import (
    ItemAdded,
    ItemDone,
    ReasoningContentDelta,
    ReasoningSummaryDelta,
    ReasoningSummaryPartAdded,
    TextDelta,
    ToolInputDelta,
)
from ._usage import TokenUsage

ResponsePhase: TypeAlias = Literal["created", "going", "completed", "failed", "incomplete"]


@attrs.frozen(kw_only=True)
class ResponseSeen:
    """The provider said something about the response as a whole."""

    phase: ResponsePhase
    """``going`` stands for everything that neither begins nor ends a response."""
    response_id: str = ""
    usage: TokenUsage | None = None
    end_turn: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    incomplete_reason: str | None = None
    server_model: str | None = None
    """The model that answers, when the payload carried the provider's headers."""


@attrs.frozen
class UnreadableEnd:
    """The payload that ends a response could not be read."""

    detail: str


Payload: TypeAlias = (
    TextDelta
    | ReasoningSummaryDelta
    | ReasoningSummaryPartAdded
    | ReasoningContentDelta
    | ToolInputDelta
    | ItemAdded
    | ItemDone
    | ResponseSeen
    | UnreadableEnd
)
"""One event of a response stream, decoded. Most are model events already."""
