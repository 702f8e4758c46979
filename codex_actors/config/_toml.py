"""TOML, as files and as ``key=value`` on the command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from ._errors import SettingsError
from ._layers import Layer

_POSITION = re.compile(r" \(at line (\d+), column (\d+)\)$")


def parse_file(text: str, path: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises:
        SettingsError: It is not TOML. The message has the line and the column.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise _syntax_error(str(error), path) from error
    except RecursionError:
        raise SettingsError("not valid TOML: nested too deep", source=path) from None


def _syntax_error(message: str, path: str) -> SettingsError:
    position = _POSITION.search(message)
    where = f"{path}:{position[1]}:{position[2]}" if position else path
    reason = _POSITION.sub("", message)
    return SettingsError(f"not valid TOML: {reason[:1].lower()}{reason[1:]}", source=where)


def parse_overrides(overrides: Sequence[str], *, base: str) -> list[Layer]:
    """One layer per ``key=value``, in order.

    Raises:
        SettingsError: One of them has no ``=`` or a part of its key is empty.
    """
    return [_parse_override(override, base) for override in overrides]


def _parse_override(override: str, base: str) -> Layer:
    key, equals, value = override.partition("=")
    source = f"-c {override!r}"
    if not equals:
        raise SettingsError("expected key=value, got no '='", source=source)
    parsed = parse_value(value.strip())
    for part in reversed(_split_key(key.strip(), source)):
        parsed = {part: parsed}
    return Layer("-c", parsed, base)


def _split_key(key: str, source: str) -> list[str]:
    parts = _quoted_parts(key) if '"' in key or "'" in key else key.split(".")
    if not parts or not all(part.strip() for part in parts):
        raise SettingsError(
            "expected a dotted key without empty parts, as in model_providers.mine.name=...",
            source=source,
        )
    return [part.strip() for part in parts]


def _quoted_parts(key: str) -> list[str]:
    # A name with a dot in it has to be quoted, as in TOML: models."gpt-5.5".context_window
    try:
        found: Any = tomllib.loads(f"{key} = 0")
    except (ValueError, RecursionError):
        return []
    parts: list[str] = []
    while isinstance(found, dict) and len(found) == 1:
        name, found = next(iter(found.items()))
        parts.append(name)
    return parts if found == 0 else []


def parse_value(text: str) -> Any:
    """``text`` as a TOML value; if it is none, ``text`` itself without quotes around it."""
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text.strip("\"'")
    # A line break in the text would start a second key.
    return document["value"] if len(document) == 1 else text
