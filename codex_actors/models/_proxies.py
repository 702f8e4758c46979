"""Which proxy the environment names for an address. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

import attrs

_PORTS: Final = {"http": 80, "https": 443}


@attrs.frozen
class NamedProxy:
    """A proxy, and where it is named."""

    variable: str
    """The environment variable: what messages call the proxy, whose address may hold a password."""
    address: str = attrs.field(repr=False)


def find_proxy(url: str, environment: Mapping[str, str]) -> NamedProxy | None:
    """Return the proxy for requests to ``url``; None if they go directly.

    ``https_proxy`` or ``http_proxy`` decides by the scheme of ``url``, ``all_proxy`` where that
    is missing. ``no_proxy`` lists what is reached directly: names, which stand for the names below
    them too, or addresses, both perhaps with a port; networks like ``10.0.0.0/8``; or ``*``.
    Variables in small letters win over those in capitals.
    """
    parts = urlsplit(url)
    named = _look_up(f"{parts.scheme}_proxy", environment) or _look_up("all_proxy", environment)
    return None if named is None or _is_direct(parts, environment) else named


def _look_up(name: str, environment: Mapping[str, str]) -> NamedProxy | None:
    for variable in (name, name.upper()):
        # To a CGI program HTTP_PROXY is the header "Proxy" of whoever sent it the request.
        if variable == "HTTP_PROXY" and "REQUEST_METHOD" in environment:
            continue
        if variable in environment:
            address = environment[variable].strip()
            full = address if "://" in address else f"http://{address}"
            return NamedProxy(variable, full) if address else None
    return None


def _is_direct(parts: SplitResult, environment: Mapping[str, str]) -> bool:
    listed = environment.get("no_proxy", environment.get("NO_PROXY", ""))
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    return any(_names(entry.strip().lower(), host, port) for entry in listed.split(","))


def _names(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of ``no_proxy`` stands for the host."""
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        name, _, only = entry.lstrip("*.").partition(":")
    return name != "" and only in {"", str(port)} and f".{host}".endswith(f".{name}")
