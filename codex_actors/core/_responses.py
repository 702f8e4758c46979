"""What a response stream's payloads mean: model events, or why the stream is worth nothing.

Two laws hold for any sequence of payloads (tests/core/test_responses.py):

* every payload gives events or is remembered as a failure; nothing raises;
* there is at most one `ResponseCompleted`, it is the last event, and after it `end` finds no fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

import attrs

from ..protocol import ModelEvent, ResponseCompleted, ResponseCreated, ServerModelSeen
from ..protocol._payloads import Payload, ResponseSeen, UnreadableEnd
from ._retry import parse_retry_delay


@attrs.frozen(kw_only=True)
class StreamFailure:
    """Why a response is worth nothing, in terms of what to do about it."""

    message: str
    kind: str = "other"
    """As in `codex_actors.protocol.ErrorInfo.kind`."""
    retryable: bool = True
    """Whether sampling anew may help."""
    delay: float | None = None
    """Seconds to wait before that, when the provider said so."""
    code: str | None = None
    """The provider's own word for it."""


_CUT_SHORT: Final = StreamFailure(
    message="the stream ended before response.completed; the connection was cut on the way"
)


@final
@attrs.define(eq=False)
class ResponseReader:
    """Follows one response stream.

    A response that the provider calls failed is only remembered: the stream goes on until its
    connection ends, as the reference has it, and what it delivers until then still counts.
    """

    _server_model: str | None = None
    """The model that the response's headers named."""
    _completed: bool = attrs.field(default=False, init=False)
    _failure: StreamFailure | None = attrs.field(default=None, init=False)
    _unreadable: bool = attrs.field(default=False, init=False)

    @property
    def over(self) -> bool:
        """Whether nothing that follows can matter."""
        return self._completed or self._unreadable

    @property
    def failure(self) -> StreamFailure | None:
        """The failure remembered so far."""
        return None if self._completed else self._failure

    def receive(self, payloads: Iterable[Payload | None]) -> list[ModelEvent]:
        """Return the events that the payloads mean; none from where the stream is over.

        Takes many, since this runs once per token of text.
        """
        events: list[ModelEvent] = []
        if self._completed or self._unreadable:
            return events
        for payload in payloads:
            if isinstance(payload, ResponseSeen):
                events += self._model_seen(payload)
                events += self._response_seen(payload)
            elif isinstance(payload, UnreadableEnd):
                self._unreadable = True
                self._failure = StreamFailure(message=payload.detail)
            elif payload is not None:
                events.append(payload)
                continue
            if self.over:
                break
        return events

    def end(self) -> StreamFailure | None:
        """Say what is wrong with a stream that ends here; None: nothing is."""
        return None if self._completed else self._failure or _CUT_SHORT

    def _model_seen(self, seen: ResponseSeen) -> tuple[ModelEvent, ...]:
        if seen.server_model is None or seen.server_model == self._server_model:
            return ()
        self._server_model = seen.server_model
        return (ServerModelSeen(seen.server_model),)

    def _response_seen(self, seen: ResponseSeen) -> tuple[ModelEvent, ...]:
        match seen.phase:
            case "created":
                return (ResponseCreated(seen.response_id),)
            case "completed":
                self._completed = True
                return (ResponseCompleted(seen.response_id, seen.usage, seen.end_turn),)
            case "failed":
                self._failure = classify_failure(seen.error_code, seen.error_message)
            case "incomplete":
                self._failure = _incomplete(seen.incomplete_reason)
            case "going":
                pass
        return ()


def classify_failure(code: str | None, message: str | None) -> StreamFailure:
    """Return what the error of a failed response means.

    Args:
        code: The provider's ``error.code``.
        message: The provider's ``error.message``.
    """
    said = message or "the provider said that the response failed, and not why"
    if code in _HOPELESS:
        return StreamFailure(message=said, kind=_HOPELESS[code], retryable=False, code=code)
    delay = parse_retry_delay(said) if code == "rate_limit_exceeded" else None
    return StreamFailure(message=said, delay=delay, code=code)


# Codes after which sampling anew cannot help; the list is the reference's.
_HOPELESS: Final[dict[str | None, str]] = {
    "context_length_exceeded": "context_window_exceeded",
    "insufficient_quota": "usage_limit_exceeded",
    "usage_not_included": "usage_limit_exceeded",
    "cyber_policy": "cyber_policy",
    "misalignment_policy_violation": "misalignment_policy_violation",
    "invalid_prompt": "other",
    "bio_policy": "other",
    "server_is_overloaded": "server_overloaded",
    "slow_down": "server_overloaded",
}


def _incomplete(reason: str | None) -> StreamFailure:
    return StreamFailure(
        message=f"the provider returned an incomplete response, reason: {reason or 'unknown'}",
        code="incomplete",
    )
