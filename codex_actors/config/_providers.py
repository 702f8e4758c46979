"""Where models are reached: the providers built in, and those that users add."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from .._version import __version__
from ..protocol import Provider
from ._errors import SettingsError, find_nearest, list_choices
from ._table import Table

OPENAI_URL = "https://api.openai.com/v1"
_OLLAMA_PORT = "11434"
_LMSTUDIO_PORT = "1234"
_LLAMACPP_PORT = "8080"

_URL = "a URL that starts with 'http://' or 'https://'"

# A token, as RFC 9110 section 5.6.2 has it.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_MOST_RETRIES = 100
"""More are cut down to this, as the reference does."""

LOCAL_MODELS: Mapping[str, str] = {
    "ollama": "gpt-oss:20b",
    "lmstudio": "openai/gpt-oss-20b",
}
"""Model of a local provider when none is named; elsewhere the catalogue decides."""


def builtin_providers(environ: Mapping[str, str], openai_url: str | None) -> dict[str, Provider]:
    """The providers that need no configuration, by id."""
    url = openai_url or _environ_url(environ, "OPENAI_BASE_URL") or OPENAI_URL
    openai = Provider(
        id="openai",
        name="OpenAI",
        base_url=url,
        http_headers={"version": __version__},
        env_http_headers={
            "OpenAI-Organization": "OPENAI_ORGANIZATION",
            "OpenAI-Project": "OPENAI_PROJECT",
        },
        requires_openai_auth=True,
    )
    scripted = Provider(id="scripted", name="script")
    return {provider.id: provider for provider in (openai, *local_providers(environ), scripted)}


def local_providers(environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """The servers that may run on this machine, those that are asked first at first.

    Raises:
        SettingsError: ``CODEX_OSS_BASE_URL`` is no URL.
    """
    ports = {"ollama": _OLLAMA_PORT, "lmstudio": _LMSTUDIO_PORT, "llamacpp": _LLAMACPP_PORT}
    return tuple(
        Provider(id=provider_id, name="gpt-oss", base_url=_local_url(environ, port))
        for provider_id, port in ports.items()
    )


def _local_url(environ: Mapping[str, str], default_port: str) -> str:
    if url := _environ_url(environ, "CODEX_OSS_BASE_URL"):
        return url
    return f"http://localhost:{environ.get('CODEX_OSS_PORT') or default_port}/v1"


def read_providers(root: Table, environ: Mapping[str, str]) -> dict[str, Provider]:
    """All providers, by id.

    Raises:
        SettingsError: An entry is wrong, or has the id of a built-in provider.
    """
    openai_url = root.string("openai_base_url")
    _check_url(root, "openai_base_url", openai_url)
    found = builtin_providers(environ, openai_url)
    builtin = tuple(found)
    providers = root.table("model_providers")
    for provider_id, table in root.tables("model_providers").items():
        if provider_id == "scripted":
            found[provider_id] = _read_scripted(table, found[provider_id])
        elif provider_id in builtin:
            raise providers.refuse(
                provider_id,
                f"is built in and cannot be changed; choose another id, such as '{provider_id}-mine'",
            )
        else:
            found[provider_id] = _read_provider(provider_id, table)
    return found


def _read_scripted(table: Table, provider: Provider) -> Provider:
    for key in table.values:
        if key != "script":
            raise table.refuse(
                key, "is no key of this built-in provider; its only key is 'script', a path"
            )
    return attrs.evolve(provider, script=table.file("script"))


def _read_provider(provider_id: str, table: Table) -> Provider:
    _check_wire_api(table)
    return Provider(
        id=provider_id,
        name=table.string("name") or provider_id,
        base_url=_read_url(table) or OPENAI_URL,
        env_key=table.string("env_key"),
        env_key_instructions=table.string("env_key_instructions"),
        bearer_token=table.string("experimental_bearer_token"),
        query_params=table.string_map("query_params") or {},
        http_headers=table.string_map("http_headers") or {},
        env_http_headers=table.string_map("env_http_headers") or {},
        request_max_retries=_read_retries(table, "request_max_retries", 4),
        stream_max_retries=_read_retries(table, "stream_max_retries", 5),
        stream_idle_timeout=_read_idle_timeout(table),
        requires_openai_auth=table.boolean("requires_openai_auth") or False,
    )


def _check_wire_api(table: Table) -> None:
    match table.values.get("wire_api"):
        case None | "responses":
            pass
        case "chat":
            raise table.refuse(
                "wire_api",
                "the chat completions API is not spoken any more; write wire_api = 'responses', "
                "which most servers offer at <base_url>/responses",
            )
        case _:
            raise table.wrong("wire_api", "'responses'")


def _read_url(table: Table) -> str | None:
    url = table.string("base_url")
    _check_url(table, "base_url", url)
    return url


def _check_url(table: Table, key: str, url: str | None) -> None:
    if url is not None and not _is_url(url):
        raise table.wrong(key, _URL)


def _environ_url(environ: Mapping[str, str], variable: str) -> str | None:
    url = environ.get(variable)
    if url and not _is_url(url):
        raise SettingsError(source=f"environment variable {variable}", expected=_URL, got=repr(url))
    return url


def _is_url(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _read_retries(table: Table, key: str, default: int) -> int:
    value = table.integer(key)
    return default if value is None else min(value, _MOST_RETRIES)


def _read_idle_timeout(table: Table) -> float:
    milliseconds = table.integer("stream_idle_timeout_ms", at_least=1)
    if milliseconds is None:
        return 300.0
    try:
        return milliseconds / 1000
    except OverflowError:
        raise table.wrong("stream_idle_timeout_ms", "a number of milliseconds") from None


def choose_provider(root: Table, providers: Mapping[str, Provider]) -> Provider:
    """The provider that ``model_provider`` names; ``openai`` if nothing does.

    Raises:
        SettingsError: There is no such provider, or it is ``scripted`` and has no script.
    """
    name = root.string("model_provider") or "openai"
    if name not in providers:
        raise SettingsError(
            f"no provider {name!r}; expected {list_choices(sorted(providers))}, "
            f"or a table [model_providers.{name}]",
            source=root.source("model_provider"),
            key="model_provider",
            expected=list_choices(sorted(providers)),
            got=repr(name),
            suggestion=find_nearest(name, providers),
        )
    if name == "scripted" and providers[name].script is None:
        raise root.refuse(
            "model_provider",
            "the scripted provider needs a script; set model_providers.scripted.script to its path",
        )
    return providers[name]


def resolve_headers(provider: Provider, environ: Mapping[str, str]) -> Provider:
    """``provider`` with the headers that come from variables; blank ones are left out.

    Raises:
        SettingsError: A header could not be sent.
    """
    from_environ = {
        header: environ[variable]
        for header, variable in provider.env_http_headers.items()
        if environ.get(variable, "").strip()
    }
    headers = {**provider.http_headers, **from_environ}
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
            # Without the value: it may be a secret.
            raise SettingsError(
                "no header can have this name, or the value that is set for it",
                key=f"model_providers.{provider.id}.http_headers.{name!r}",
            )
    return attrs.evolve(provider, http_headers=headers)
