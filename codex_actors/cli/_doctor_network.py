"""Checks of `codex-actors doctor` that look at the way to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio

from ..models import Probe, probe_provider
from ._doctor_finding import Finding, State, Surroundings

_VERDICTS: Final[Mapping[str, tuple[State, str, str | None]]] = {
    "accepted": ("ok", "reached, and the key is taken", None),
    "rejected": ("broken", "the key is not taken", "use another key, or another provider"),
    "no_list": ("ok", "reached; it lists no models, so the key is not tried", None),
    "no_name": (
        "broken",
        "the name of the host cannot be looked up (DNS)",
        "check the address for slips, and whether this machine has a network",
    ),
    "refused": ("broken", "nobody listens there", "start the server, or check address and port"),
    "tls": (
        "broken",
        "no secure connection (TLS) comes about",
        "trust the certificate of a proxy or server by CODEX_CA_CERTIFICATE=FILE",
    ),
    "unusable": ("broken", "no request can be sent", "mend the provider's settings"),
    "failed": ("broken", "no usable answer", "try again later, and ask who runs the server"),
}

_PROXIES: Final = ("https_proxy", "http_proxy", "all_proxy", "no_proxy")


async def check_endpoint(where: Surroundings) -> Finding:
    """Whether the provider is reached and takes the key.

    Cancellation: closes the connection.
    """
    if where.loaded is None:
        await trio.lowlevel.checkpoint()
        missing = "the key is missing" if where.key_error else "the settings do not load"
        return Finding("endpoint", "note", f"not tried, as {missing}")
    provider = where.loaded.settings.provider
    if provider.script is not None:
        await trio.lowlevel.checkpoint()
        return Finding("endpoint", "ok", f"a script plays the model: {provider.script}")
    return judge_probe(await probe_provider(provider, environment=where.environ))


def judge_probe(probe: Probe) -> Finding:
    """Put what became of the request into words."""
    state, words, remedy = _VERDICTS[probe.reach]
    way = f" (through the proxy of {probe.proxy})" if probe.proxy else ""
    said = f": {probe.detail}" if state != "ok" else ""
    return Finding("endpoint", state, f"{probe.url}{way}: {words}{said}", remedy)


async def check_proxies(where: Surroundings) -> Finding:
    """Which proxies the environment names; their addresses may hold passwords."""
    await trio.lowlevel.checkpoint()
    names = [n for name in _PROXIES for n in (name, name.upper()) if where.environ.get(n)]
    if not names:
        return Finding("proxies", "ok", "none are named")
    return Finding("proxies", "ok", f"named by {', '.join(names)}")
