"""`--oss`: a server on this machine, and a model that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import trio

from ..config import LOCAL_MODELS, SettingsError, local_providers, read_sources
from ..models import LocalServer, choose_model, find_local_servers
from ..protocol import Provider
from ._config_flags import ConfigFlags, sources_of

_START: Final[Mapping[str, str]] = {
    "ollama": "ollama serve",
    "lmstudio": "lms server start",
    "llamacpp": "llama-server -m FILE.gguf",
}
_GET: Final[Mapping[str, str]] = {
    "ollama": "ollama pull gpt-oss:20b",
    "lmstudio": "lms get openai/gpt-oss-20b",
    "llamacpp": "llama-server -m FILE.gguf",
}


def with_local_server(flags: ConfigFlags, environ: Mapping[str, str]) -> ConfigFlags:
    """Return the flags with the local provider and the model that they ask for. Blocks.

    Raises:
        SettingsError: if no local server is of use; it says which were tried, and how to
            start one.
    """
    if not flags.oss and flags.local_provider is None:
        return flags
    providers = _candidates(flags, environ)
    servers = trio.run(_find, providers, environ)
    found = choose_server(servers, flags.model)
    if found is None:
        raise SettingsError(_explain(servers), source="--oss")
    return attrs.evolve(flags, provider=found[0], model=found[1])


def _candidates(flags: ConfigFlags, environ: Mapping[str, str]) -> Sequence[Provider]:
    """The servers to ask, the preferred one first."""
    providers = {provider.id: provider for provider in local_providers(environ)}
    name = flags.local_provider
    if name is None:
        root = read_sources(sources_of(flags, environ), environ)
        name = root.choice("oss_provider", tuple(providers))
    return tuple(providers.values()) if name is None else (providers[name],)


async def _find(
    providers: Sequence[Provider], environ: Mapping[str, str]
) -> tuple[LocalServer, ...]:
    return await find_local_servers(providers, environment=environ)


def choose_server(servers: Sequence[LocalServer], model: str | None) -> tuple[str, str] | None:
    """Return the provider and the model to use; None if no server has any.

    A server that has ``model`` comes before others; without one, the first that answers
    may still know where to get it.
    """
    answering = [server for server in servers if server.problem is None]
    if model is not None:
        having = [server for server in answering if model in server.models]
        return next(((server.provider.id, model) for server in (*having, *answering)), None)
    for server in answering:
        found = choose_model(server.models, LOCAL_MODELS.get(server.provider.id))
        if found is not None:
            return server.provider.id, found
    return None


def _explain(servers: Sequence[LocalServer]) -> str:
    return f"no local server has a model to use; {'; '.join(map(_complain, servers))}"


def _complain(server: LocalServer) -> str:
    name = server.provider.id
    if server.problem is None:
        return f"{name} at {server.provider.base_url} has none; get one with {_GET[name]!r}"
    return f"{name}: {server.problem}; start it with {_START[name]!r}"
