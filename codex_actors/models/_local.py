"""Which servers on this machine answer, and the models they have."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from ..protocol import Provider
from ._errors import ModelError
from ._headers import user_agent
from ._transport import HttpTransport

if TYPE_CHECKING:
    import httpx

PATIENCE: Final = 2.0
"""Seconds that a server gets to answer. One on this machine that needs more is not well."""
_BODY_BYTES: Final = 1024 * 1024


@final
@attrs.frozen(kw_only=True)
class LocalServer:
    """What asking one server for its models has brought."""

    provider: Provider
    models: tuple[str, ...] = ()
    """Their slugs, as the server lists them."""
    problem: str | None = None
    """Why it is of no use; None: it answered."""


async def find_local_servers(
    providers: Sequence[Provider],
    *,
    environment: Mapping[str, str] | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> tuple[LocalServer, ...]:
    """Ask all of ``providers`` for ``<base_url>/models``, at the same time.

    Takes `PATIENCE` seconds at most, and raises nothing for what servers do.

    Args:
        providers: The servers; what comes back is in the same order.
        environment: Where certificates and proxies are looked up; the process's by default.
        transport: An httpx transport that answers instead of the network, for tests.

    Cancellation: closes the connections.
    """
    environment = os.environ if environment is None else environment
    found: dict[int, LocalServer] = {}

    async def ask(number: int, provider: Provider) -> None:
        found[number] = await _ask(provider, environment, transport)

    async with trio.open_nursery() as nursery:
        for number, provider in enumerate(providers):
            nursery.start_soon(ask, number, provider, name=f"models of {provider.id}")
    return tuple(found[number] for number in range(len(providers)))


async def _ask(
    provider: Provider,
    environment: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None,
) -> LocalServer:
    url = f"{provider.base_url.rstrip('/')}/models"
    with trio.move_on_after(PATIENCE):
        try:
            http = HttpTransport(url, environment, idle_timeout=PATIENCE, inner=transport)
            async with http:
                return await _list_models(provider, http)
        except ModelError as error:
            return LocalServer(provider=provider, problem=str(error))
    return LocalServer(provider=provider, problem=f"no answer within {PATIENCE:g} seconds")


async def _list_models(provider: Provider, http: HttpTransport) -> LocalServer:
    headers = {"accept": "application/json", "user-agent": user_agent("codex_actors")}
    answer = await http.get(headers)
    try:
        if answer.status != 200:
            return LocalServer(
                provider=provider,
                problem=f"answered with status {answer.status}, no list of models",
            )
        models = read_models(await answer.read(_BODY_BYTES))
    finally:
        await answer.aclose()
    if models is None:
        return LocalServer(provider=provider, problem="answered, but with no list of models")
    return LocalServer(provider=provider, models=models)


def read_models(body: bytes) -> tuple[str, ...] | None:
    """Return the slugs in an answer of ``/models``; None if it is no such answer."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return None
    slugs = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return tuple(slug for slug in slugs if isinstance(slug, str) and slug.strip())


def choose_model(models: Sequence[str], preferred: str | None) -> str | None:
    """Return the preferred model if it is there, else the first one that can hold a talk."""
    if preferred in models:
        return preferred
    # Servers list models for embeddings among the others, and say so in the name alone.
    return next((slug for slug in models if "embed" not in slug.lower()), None)
