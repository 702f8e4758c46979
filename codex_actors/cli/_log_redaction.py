"""Taking secrets out of text that is to be written down. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, final
from urllib.parse import quote

import attrs

from ..core import holds_secret
from ..protocol import Provider

MARK: Final = "***"
"""Stands where a secret stood."""

SHORTEST: Final = 8
"""Characters; what is shorter is no secret, and would tear holes into words. More than in `MARK`,
so that redacting comes to an end."""

_SECRET_NAMES: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTHORIZATION|COOKIE", re.IGNORECASE
)
"""Names of variables and headers whose values nobody should read."""

_SHAPES: Final = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        # To the end of the line: whatever the scheme, all of it is secret.
        r"(\b(?:proxy-)?authorization['\"]?+\s*+[:=]\s*+['\"]?+)[^\r\n]+",
        r"(\bbearer\s++)[^\s'\",;]+",
        r"(\bsk-)[a-z0-9_-]{8,}",
        r"(://[^\s/:@]*:)[^\s/@]+(?=@)",
        r"((?:api[_-]?key|access[_-]?token|secret|password)['\"]?+\s*+[:=]\s*+['\"]?+)[^\s'\"&,;]+",
    )
)
"""What secrets look like that nobody told of; the first group stays."""


@final
@attrs.frozen
class Redactor:
    """Replaces secrets by `MARK`: those that it was told of, and what looks like one."""

    secrets: frozenset[str] = attrs.field(repr=False)
    _known: re.Pattern[str] | None = attrs.field(init=False, repr=False)

    @_known.default
    def _compile(self) -> re.Pattern[str] | None:
        spelled = {form for s in self.secrets for form in (s, quote(s, safe=""))}
        # The longest first: one secret may be the beginning of another.
        longest = sorted((s for s in spelled if len(s) >= SHORTEST), key=lambda s: (-len(s), s))
        return re.compile("|".join(map(re.escape, longest))) if longest else None

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets; what is no secret stays as it is."""
        for shape in _SHAPES:
            text = shape.sub(rf"\1{MARK}", text)
        if self._known is None:
            return text
        # Again and again, since what is left and right of a mark may spell a secret with it.
        # Every round makes the text shorter.
        while (shorter := self._known.sub(MARK, text)) != text:
            text = shorter
        return text


def find_secrets(provider: Provider, environ: Mapping[str, str]) -> frozenset[str]:
    """Return every secret that the settings and the environment hold."""
    found = {provider.bearer_token or ""}
    found |= set(_values(provider.http_headers)) | set(provider.query_params.values())
    found |= set(_values(environ))
    found |= {environ.get(name, "") for name in provider.env_http_headers.values()}
    found |= {environ.get(provider.env_key or "", "")}
    return frozenset(secret.strip() for secret in found if len(secret.strip()) >= SHORTEST)


def _values(named: Mapping[str, str]) -> Iterable[str]:
    return (
        value
        for name, value in named.items()
        if _SECRET_NAMES.search(name) or holds_secret(name, value)
    )
