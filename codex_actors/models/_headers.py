"""What a request's headers tell, and what a response's headers say. Pure."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterator, Mapping
from typing import Final

from .._version import __version__
from ..protocol import (
    Credits,
    ModelEvent,
    Provider,
    RateLimits,
    RateLimitsSeen,
    RateLimitWindow,
    ServerModelSeen,
)
from ._client import Prompt
from ._errors import BadProvider, MissingKey

_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_SENDABLE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")
"""Values that every HTTP library takes: printable ASCII without blanks at the ends."""

_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
"""What says where a body ends; a second word about it lets others read a request in two ways."""

_MAIN: Final = "codex"
"""The limit that a provider speaks of when it names none."""


def find_key(provider: Provider, environment: Mapping[str, str]) -> str | None:
    """Return the API key that the provider's settings lead to; None if it wants none.

    Raises:
        MissingKey: if the settings name a variable that is not set.
    """
    if provider.bearer_token is not None:
        return provider.bearer_token
    if provider.env_key is None and not provider.requires_openai_auth:
        return None
    name = provider.env_key or "OPENAI_API_KEY"
    key = environment.get(name, "").strip()
    if not key:
        how = provider.env_key_instructions or "set it to the API key"
        raise MissingKey(
            f"the environment variable {name!r}, which holds the API key of the provider"
            f" {provider.id!r}, is missing or empty; {_one_line(how)}"
        )
    return key


def request_headers(
    prompt: Prompt, provider: Provider, key: str | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers of one request, names in lower case; the prompt's own come last.

    Raises:
        BadProvider: if a header cannot be sent. The message names it and hides its value.
    """
    headers = {
        "accept": "text/event-stream",
        "content-type": "application/json",
        "originator": prompt.originator,
        "user-agent": user_agent(prompt.originator),
    }
    if prompt.session_id:
        headers["session-id"] = prompt.session_id
    if prompt.thread_id:
        headers |= {"thread-id": prompt.thread_id, "x-client-request-id": prompt.thread_id}
    headers |= {name.lower(): value for name, value in provider.http_headers.items()}
    for name, variable in provider.env_http_headers.items():
        if value := environment.get(variable, "").strip():
            headers[name.lower()] = value
    if key is not None:
        headers["authorization"] = f"Bearer {key.strip()}"
    headers |= {name.lower(): value for name, value in prompt.headers}
    for name, value in headers.items():
        _check_sendable(name, value, provider)
    return headers


def _check_sendable(name: str, value: str, provider: Provider) -> None:
    if not _NAME.fullmatch(name) or not _SENDABLE.fullmatch(value):
        raise BadProvider(
            f"the header {name!r} for the provider {provider.id!r} holds characters that HTTP"
            " does not carry; only printable ASCII can be sent"
        )
    if name in _FRAMING:
        raise BadProvider(
            f"the header {name!r} for the provider {provider.id!r} is told of each request as it"
            " is; leave it out"
        )


def user_agent(originator: str) -> str:
    """Return who is asking, in the reference's form."""
    system = f"{platform.system()} {platform.release()}; {platform.machine()}"
    return f"{originator}/{__version__} ({system})"


def events_of_headers(headers: Mapping[str, str]) -> tuple[ModelEvent, ...]:
    """Return what a response's headers (names in lower case) say, in the reference's order."""
    if not any(name.startswith(("x-", "openai-")) for name in headers):
        return _NOTHING_SAID
    model = headers.get("openai-model")
    limits = tuple(RateLimitsSeen(_limits(headers, limit)) for limit in _limit_ids(headers))
    return (ServerModelSeen(model), *limits) if model else limits


def _limit_ids(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the main limit, which is always reported, and then those that the headers add."""
    yield _MAIN
    for name in sorted(headers):
        if name.startswith("x-") and name.endswith("-primary-used-percent"):
            limit = name.removeprefix("x-").removesuffix("-primary-used-percent")
            if limit != _MAIN:
                yield limit


def _limits(headers: Mapping[str, str], limit: str) -> RateLimits:
    main = limit == _MAIN
    return RateLimits(
        limit_id=limit.replace("-", "_"),
        limit_name=headers.get(f"x-{limit}-limit-name") or None,
        primary=_window(headers, f"x-{limit}-primary"),
        secondary=_window(headers, f"x-{limit}-secondary"),
        credits=_credits(headers) if main else None,
        rate_limit_reached_type=headers.get("x-codex-rate-limit-reached-type") if main else None,
    )


def _window(headers: Mapping[str, str], prefix: str) -> RateLimitWindow | None:
    used = _number(headers.get(f"{prefix}-used-percent"))
    if used is None:
        return None
    minutes = _number(headers.get(f"{prefix}-window-minutes"))
    resets_at = _number(headers.get(f"{prefix}-reset-at"))
    if not (used or minutes or resets_at):  # a provider without limits sends zeros
        return None
    return RateLimitWindow(
        used_percent=used,
        window_minutes=None if minutes is None else int(minutes),
        resets_at=None if resets_at is None else int(resets_at),
    )


def _credits(headers: Mapping[str, str]) -> Credits | None:
    has = _flag(headers.get("x-codex-credits-has-credits"))
    unlimited = _flag(headers.get("x-codex-credits-unlimited"))
    if has is None or unlimited is None:
        return None
    balance = headers.get("x-codex-credits-balance", "").strip() or None
    return Credits(has_credits=has, unlimited=unlimited, balance=balance)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _flag(text: str | None) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get((text or "").lower())


_NOTHING_SAID: Final = (RateLimitsSeen(_limits({}, _MAIN)),)


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
