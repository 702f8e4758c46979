"""Where the key of a provider comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

import attrs

from ..protocol import Provider
from ._errors import SettingsError
from ._files import is_open_to_others, read_text

_VARIABLES = ("CODEX_API_KEY", "OPENAI_API_KEY")


@final
@attrs.frozen(kw_only=True)
class Key:
    """A secret, and where it was found."""

    secret: str = attrs.field(repr=False)
    source: str
    warning: str | None = None
    """What its owner should know about the place."""


def find_key(provider: Provider, environ: Mapping[str, str], home: str) -> Key | None:
    """The key to send to ``provider``; None if it wants none.

    In this order: the variable ``env_key``; ``experimental_bearer_token``; and, for
    providers with ``requires_openai_auth``, ``CODEX_API_KEY``, ``OPENAI_API_KEY`` and
    ``<home>/auth.json``.

    Raises:
        SettingsError: The provider wants a key and there is none, or ``auth.json`` is
            unreadable.
    """
    if provider.env_key is not None:
        return _required_variable(provider, provider.env_key, environ)
    if provider.bearer_token is not None:
        return _make_key(provider.bearer_token, "experimental_bearer_token")
    if provider.requires_openai_auth:
        return _find_openai_key(environ, home)
    return None


def _required_variable(provider: Provider, variable: str, environ: Mapping[str, str]) -> Key:
    if key := _from_variable(variable, environ):
        return key
    instructions = provider.env_key_instructions
    hint = f": {' '.join(instructions.split())}" if instructions else ""
    raise SettingsError(
        f"provider {provider.id!r} takes its key from it, and it is not set{hint}",
        source=f"environment variable {variable}",
        expected="a key",
        got="nothing",
    )


def _from_variable(variable: str, environ: Mapping[str, str]) -> Key | None:
    value = environ.get(variable, "")
    return _make_key(value, f"environment variable {variable}") if value.strip() else None


def _make_key(value: str, source: str, warning: str | None = None) -> Key:
    secret = value.strip()
    # Anything else cannot stand in a header; the message must not show the secret.
    if not (secret.isascii() and secret.isprintable()):
        raise SettingsError("the key has a character that no key has", source=source)
    return Key(secret=secret, source=source, warning=warning)


def _find_openai_key(environ: Mapping[str, str], home: str) -> Key:
    for variable in _VARIABLES:
        if key := _from_variable(variable, environ):
            return key
    path = f"{home}/auth.json"
    document = _read_auth(path)
    secret = document.get("OPENAI_API_KEY")
    if isinstance(secret, str) and secret.strip():
        return _make_key(secret, path, _warn_if_open(path))
    if secret is not None and not isinstance(secret, str):
        raise SettingsError(
            source=path, key="OPENAI_API_KEY", expected="a string", got=type(secret).__name__
        )
    raise _no_model(home, document)


def _read_auth(path: str) -> dict[str, Any]:
    text = read_text(path)
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        # Without the cause: its traceback would carry the file's text, which holds keys.
        raise SettingsError(f"not valid JSON{line}", source=path) from None
    if not isinstance(document, dict):
        raise SettingsError("expected a JSON object", source=path)
    return document


def _warn_if_open(path: str) -> str | None:
    if is_open_to_others(path):
        return f"{path} holds a key that other users can read; run chmod 600 on it"
    return None


def _no_model(home: str, auth: Mapping[str, Any]) -> SettingsError:
    signed_in = auth.get("tokens") or auth.get("auth_mode") in {"chatgpt", "chatgptAuthTokens"}
    excuse = f" ({home}/auth.json holds a ChatGPT sign-in, which is not supported)"
    return SettingsError(
        f"no key for a model{excuse if signed_in else ''}; do one of these: "
        "set CODEX_API_KEY or OPENAI_API_KEY; "
        f'put {{"OPENAI_API_KEY": "..."}} into {home}/auth.json; '
        f"describe a provider in [model_providers.<id>] of {home}/config.toml and set "
        "model_provider = '<id>'; "
        "use a local one (ollama, lmstudio, llamacpp) with --oss; "
        "play a script with -c model_provider=scripted -c model_providers.scripted.script=FILE"
    )
