"""A model behind the Responses API: one request, one stream."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Final, final
from urllib.parse import urlencode, urlsplit

import trio

from ..protocol import ModelEvent, Provider
from ._bodies import Bodies
from ._client import Prompt
from ._errors import BadProvider, ModelError, ModelProtocolError
from ._failures import Refusal, error_from_answer, excerpt, request_id_of
from ._headers import events_of_headers, find_key, request_headers
from ._stream import ResponseChannel
from ._transport import Answer, HttpTransport, without_secrets

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

_ERROR_BODY_BYTES: Final = 64 * 1024
_ERROR_BODY_SECONDS: Final = 10.0


@final
class ResponsesClient(trio.abc.AsyncResource):
    """Talks to an endpoint of the Responses API.

    Connections are kept between requests. Close the client (``async with``, or `aclose`) to
    close them. Keys are neither logged nor part of any message.

    Args:
        provider: Where and how the model is reached.
        api_key: The key; without it the provider's settings say where it is found.
        environment: Where keys, headers, certificates and proxies are looked up; the process's
            by default. ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` stands for the system's
            certificates, that in ``CODEX_CA_CERTIFICATE`` is trusted in addition; proxies are
            those of ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``.
        transport: An httpx transport that answers instead of the network, for tests.

    Raises:
        BadProvider: if the provider's address, the certificates or the proxy cannot be used.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        api_key: str | None = None,
        environment: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._provider = provider
        self._key = api_key
        self._environment = os.environ if environment is None else environment
        self._url = _endpoint(provider)
        self._bodies = Bodies()
        self._http = HttpTransport(
            self._url,
            self._environment,
            idle_timeout=provider.stream_idle_timeout,
            inner=transport,
        )

    def __repr__(self) -> str:
        return f"<ResponsesClient of {self._provider.id!r} at {without_secrets(self._url)!r}>"

    async def aclose(self) -> None:
        """Close all connections, those of running streams included."""
        await self._http.aclose()

    def statistics(self) -> tuple[int, ...]:
        """Return how many streams each of the HTTP clients has open."""
        return self._http.statistics()

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[ResponseChannel]:
        """Send ``prompt``; hand out the response's events as they come in.

        Raises:
            ModelError: if the request was refused or did not get through.

        Cancellation:
            Closes the connection at once, as does leaving the ``async with`` early.
        """
        return _Response(self._open, prompt)

    async def _open(self, prompt: Prompt) -> ResponseChannel:
        answer = await self._ask(prompt)
        try:
            if not _is_stream(answer):
                raise await _refused(answer)
            return self._channel(answer)
        except BaseException:
            await answer.aclose()
            raise

    async def _ask(self, prompt: Prompt) -> Answer:
        key = self._key or find_key(self._provider, self._environment)
        headers = request_headers(prompt, self._provider, key, self._environment)
        asked_at = trio.current_time()
        answer = await self._http.post(headers, self._bodies.make(prompt))
        _log_answer(prompt, answer, trio.current_time() - asked_at)
        return answer

    def _channel(self, answer: Answer) -> ResponseChannel:
        first: tuple[ModelEvent, ...] = events_of_headers(answer.headers)
        return ResponseChannel(
            answer,
            first=first,
            server_model=answer.headers.get("openai-model"),
            request_id=request_id_of(answer.headers),
            idle_timeout=self._provider.stream_idle_timeout,
        )


def _log_answer(prompt: Prompt, answer: Answer, seconds: float) -> None:
    logger.info(
        "%s answered with status %d after %.2f s, request id %s",
        prompt.model,
        answer.status,
        seconds,
        request_id_of(answer.headers) or "unknown",
        extra={"thread_id": prompt.thread_id, "turn_id": prompt.turn_id},
    )


def _endpoint(provider: Provider) -> str:
    if not _is_address(provider.base_url):
        raise BadProvider(
            f"the base URL {provider.base_url!r} of the provider {provider.id!r} is no HTTP"
            " address; write one like 'https://api.openai.com/v1'"
        )
    query = f"?{urlencode(dict(provider.query_params))}" if provider.query_params else ""
    return f"{provider.base_url.rstrip('/')}/responses{query}"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_stream(answer: Answer) -> bool:
    kind = _kind_of(answer)
    return 200 <= answer.status < 300 and kind not in {"text/html", "application/json"}


def _kind_of(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _refused(answer: Answer) -> ModelError:
    """Return what an answer stands for that is no stream of events."""
    body = b""
    with trio.move_on_after(_ERROR_BODY_SECONDS):
        body = await answer.read(_ERROR_BODY_BYTES)
    refusal = _refusal(answer, body)
    if answer.status < 200 or answer.status >= 300:
        return error_from_answer(refusal)
    return ModelProtocolError(
        f"{answer.url!r} answered with {_kind_of(answer)!r} instead of an event stream:"
        f" {excerpt(body)}",
        status=answer.status,
        request_id=refusal.request_id,
    )


@final
class _Response(AbstractAsyncContextManager[ResponseChannel]):
    """One request while its answer is read. By hand: a generator costs more than it says."""

    def __init__(
        self, open_channel: Callable[[Prompt], Awaitable[ResponseChannel]], prompt: Prompt
    ) -> None:
        self._open_channel = open_channel
        self._prompt = prompt

    async def __aenter__(self) -> ResponseChannel:
        self._channel = await self._open_channel(self._prompt)
        return self._channel

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._channel.release()


def _refusal(answer: Answer, body: bytes) -> Refusal:
    return Refusal(status=answer.status, headers=answer.headers, body=body, url=answer.url)
