"""From what a server said to the error that the caller acts on. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypedDict

import attrs
import msgspec

from ..core._responses import StreamFailure
from ..core._retry import parse_retry_delay
from ._errors import (
    ContextWindowExceeded,
    InvalidRequest,
    ModelError,
    PolicyViolation,
    RateLimited,
    ServerFailed,
    ServerOverloaded,
    StreamDisconnected,
    Unauthorized,
    UnexpectedStatus,
    UsageLimitReached,
)

SHOWN_BODY_BYTES: Final = 1000
"""How much of a body is quoted; the reference's number."""

_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_HTML: Final = re.compile(rb"\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)


class _Facts(TypedDict):
    status: int
    request_id: str | None


@attrs.frozen(kw_only=True)
class Refusal:
    """An answer that is no stream."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    url: str

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request."""
        return request_id_of(self.headers)

    @property
    def facts(self) -> _Facts:
        """What every error that comes of it carries."""
        return {"status": self.status, "request_id": self.request_id}


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's name for a request, if the answer's headers tell."""
    return headers.get("x-request-id") or headers.get("x-oai-request-id")


def error_from_answer(refusal: Refusal) -> ModelError:
    """Return the error that an answer with an error status stands for."""
    said = _ProviderError.read(refusal.body)
    facts = refusal.facts
    message = _describe(refusal, said.message)
    match refusal.status:
        case 400 | 403 if said.code in _POLICIES:
            return PolicyViolation(message, kind=str(said.code), **facts)
        case 400 | 413 if said.code == "context_length_exceeded":
            return ContextWindowExceeded(message, **facts)
        case 400:
            return InvalidRequest(message, **facts)
        case 401:
            return Unauthorized(f"{message}; check the API key", **facts)
        case 429:
            return _too_many(refusal, said, message)
        case 500:
            return ServerFailed(message, retry_after=_retry_after(refusal), **facts)
        case 503 if said.code in _OVERLOADED:
            return ServerOverloaded(message, retry_after=_retry_after(refusal), **facts)
        case _:
            return UnexpectedStatus(message, retry_after=_retry_after(refusal), **facts)


def error_from_failure(failure: StreamFailure, request_id: str | None) -> ModelError:
    """Return the error that a failed stream stands for."""
    message = (
        failure.message if request_id is None else f"{failure.message}, request id: {request_id}"
    )
    match failure.kind:
        case "context_window_exceeded":
            return ContextWindowExceeded(message, request_id=request_id)
        case "usage_limit_exceeded":
            return UsageLimitReached(message, request_id=request_id)
        case "server_overloaded":
            return ServerOverloaded(message, request_id=request_id)
        case "cyber_policy" | "misalignment_policy_violation" as kind:
            return PolicyViolation(message, kind=kind, request_id=request_id)
        case _ if not failure.retryable:
            return InvalidRequest(message, request_id=request_id)
        case _ if failure.code == "rate_limit_exceeded":
            return RateLimited(message, retry_after=failure.delay, request_id=request_id)
        case _:
            return StreamDisconnected(message, retry_after=failure.delay, request_id=request_id)


def excerpt(body: bytes) -> str:
    """Return one line that shows what a body says: an HTML page by its title, others cut."""
    text = body[: SHOWN_BODY_BYTES * 64].decode("utf-8", "replace")
    if _HTML.match(body):
        title = _TITLE.search(text)
        named = " ".join(title[1].split()) if title else ""
        return f"an HTML page titled {named[:200]!r}" if named else "an HTML page"
    line = " ".join(text.split())
    cut = line.encode()[:SHOWN_BODY_BYTES].decode("utf-8", "ignore")
    return cut if cut == line else f"{cut}..."


@attrs.frozen
class _ProviderError:
    code: str | None = None
    type: str | None = None
    message: str | None = None
    resets_at: float | None = None

    @classmethod
    def read(cls, body: bytes) -> _ProviderError:
        """Find the error in a body of whatever shape."""
        try:
            fields = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return cls()
        error = fields.get("error", fields) if isinstance(fields, dict) else None
        if isinstance(error, str):
            return cls(message=error)
        if not isinstance(error, dict):
            return cls()
        resets_at = error.get("resets_at")
        return cls(
            _string(error.get("code")),
            _string(error.get("type")),
            _string(error.get("message")) or _string(error.get("detail")),
            _seconds(resets_at),
        )


def _seconds(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # JSON may have numbers of any length
        return None


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _too_many(refusal: Refusal, said: _ProviderError, message: str) -> ModelError:
    facts = refusal.facts
    if {said.type, said.code} & _USED_UP:
        return UsageLimitReached(message, retry_after=_retry_after(refusal), **facts)
    delay = _retry_after(refusal)
    if delay is None and said.message is not None:
        delay = parse_retry_delay(said.message)
    return RateLimited(message, retry_after=delay, **facts)


def _retry_after(refusal: Refusal) -> float | None:
    """Read ``Retry-After`` in seconds; the form with a date would need a clock."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(refusal.headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def _describe(refusal: Refusal, message: str | None) -> str:
    said = excerpt(message.encode()) if message else excerpt(refusal.body) or "an empty body"
    facts = [f"unexpected status {refusal.status}: {said}", f"url: {refusal.url}"]
    for name, value in (
        ("cf-ray", refusal.headers.get("cf-ray")),
        ("request id", refusal.request_id),
    ):
        if value:
            facts.append(f"{name}: {value}")
    return ", ".join(facts)


_POLICIES: Final = frozenset({"cyber_policy", "misalignment_policy_violation"})
_OVERLOADED: Final = frozenset({"server_is_overloaded", "slow_down"})
_USED_UP: Final = frozenset({"usage_limit_reached", "usage_not_included", "insufficient_quota"})
