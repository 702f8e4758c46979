"""Whether a provider can be reached, and takes the key: one small request, and no model is run."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final
from urllib.parse import urlencode

import attrs

from ..protocol import Provider
from ._errors import ModelError
from ._failures import Refusal, error_from_answer
from ._headers import find_key, user_agent
from ._proxies import find_proxy
from ._transport import Answer, HttpTransport, without_secrets

if TYPE_CHECKING:
    import httpx

Reach: TypeAlias = Literal[
    "accepted", "rejected", "no_list", "no_name", "refused", "tls", "unusable", "failed"
]
"""``accepted``: the server answered and took the key; ``rejected``: it did not take the key;
``no_list``: it answered, and cannot list models, so the key is not proven; ``no_name``: the host's
name is not known; ``refused``: nobody listens there; ``tls``: no secure connection came about;
``unusable``: the provider's settings lead to no request; ``failed``: anything else."""

_BODY_BYTES: Final = 64 * 1024
_NO_LIST: Final = frozenset({404, 405, 501})
_REJECTED: Final = frozenset({401, 403})


@final
@attrs.frozen(kw_only=True)
class Probe:
    """What became of the request."""

    reach: Reach
    url: str
    """What was asked for, without what may be secret in it: a query, a name and a password."""
    detail: str
    """One line for people."""
    proxy: str | None = None
    """The variable that names the proxy that was used."""


async def probe_provider(
    provider: Provider,
    *,
    environment: Mapping[str, str] | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Probe:
    """Ask for ``<base_url>/models``, with the provider's key, and say what came of it.

    Args:
        provider: Where the model is reached.
        environment: Where keys, certificates and proxies are looked up; the process's by default.
        transport: An httpx transport that answers instead of the network, for tests.

    Cancellation: closes the connection. A server that is silent is waited for as long as the
        caller likes.
    """
    environment = os.environ if environment is None else environment
    url = f"{provider.base_url.rstrip('/')}/models"
    named = find_proxy(url, environment)
    try:
        reach, detail = await _ask(provider, url, environment, transport)
    except ModelError as error:
        reach, detail = classify(error), str(error)
    return Probe(
        reach=reach,
        url=without_secrets(url),
        detail=detail,
        proxy=named.variable if named else None,
    )


async def _ask(
    provider: Provider,
    url: str,
    environment: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None,
) -> tuple[Reach, str]:
    query = f"?{urlencode(dict(provider.query_params))}" if provider.query_params else ""
    http = HttpTransport(
        url + query, environment, idle_timeout=provider.stream_idle_timeout, inner=transport
    )
    async with http:
        answer = await http.get(_headers(provider, environment))
        try:
            return judge_answer(answer.status, await _explain(answer))
        finally:
            await answer.aclose()


async def _explain(answer: Answer) -> str:
    body = await answer.read(_BODY_BYTES)
    if 200 <= answer.status < 300:
        return f"answered with status {answer.status}"
    refusal = Refusal(status=answer.status, headers=answer.headers, body=body, url=answer.url)
    return str(error_from_answer(refusal))


def _headers(provider: Provider, environment: Mapping[str, str]) -> dict[str, str]:
    key = find_key(provider, environment)
    headers = {"accept": "application/json", "user-agent": user_agent("codex_actors")}
    headers |= {name.lower(): value for name, value in provider.http_headers.items()}
    return headers if key is None else headers | {"authorization": f"Bearer {key}"}


def judge_answer(status: int, detail: str) -> tuple[Reach, str]:
    """Return what an answer says of the way to the server."""
    if 200 <= status < 300:
        return "accepted", detail
    if status in _REJECTED:
        return "rejected", detail
    return ("no_list" if status in _NO_LIST else "failed"), detail


def classify(error: BaseException) -> Reach:
    """Return why a request got no answer, as far as the causes of the error tell."""
    causes = tuple(_causes(error))
    kinds: tuple[tuple[type[BaseException], Reach], ...] = (
        (ssl.SSLError, "tls"),
        (socket.gaierror, "no_name"),
        (ConnectionRefusedError, "refused"),
    )
    for kind, reach in kinds:
        if any(isinstance(cause, kind) for cause in causes):
            return reach
    return "failed" if getattr(error, "retryable", False) else "unusable"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all that led to it, those in groups included."""
    seen, waiting = set[int](), [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
