"""From a provider's settings to a client that talks to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..core import Retry
from ..protocol import Provider
from ._client import ModelClient
from ._responses import ResponsesClient
from ._retrying import RetryingClient
from ._script import load_script
from ._scripted import ScriptedModel


@asynccontextmanager
async def open_client(provider: Provider) -> AsyncGenerator[ModelClient, None]:
    """Open a client for a provider; leaving the block closes its connections.

    A provider with a ``script`` is played by that script, and nothing is sent anywhere.

    Raises:
        BadProvider: if the provider's address or the certificates cannot be used.
        InvalidScript: if the script cannot be read, or is none.

    Cancellation: nothing is left open.
    """
    if provider.script is not None:
        yield ScriptedModel(await load_script(provider.script))
        return
    async with ResponsesClient(provider) as client:
        yield RetryingClient(client, Retry(provider.request_max_retries))
