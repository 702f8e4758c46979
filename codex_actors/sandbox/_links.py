"""Where a path leads, and whom one has to trust for that: whoever may change a link on its way."""

from __future__ import annotations

import os
from typing import Final, final

import attrs

MOST_LINKS: Final = 40
"""On one way; the kernel's number. What has more leads nowhere."""


@final
@attrs.frozen
class Way:
    """How a path is walked."""

    end: str
    """Where it leads: absolute, normalised and without links, unless there were too many."""
    links: tuple[str, ...]
    """Where the links lie that it goes through."""


def walk(path: str) -> Way:
    """Follow a path to its end, which need not exist. Blocks."""
    here = "/" if path.startswith("/") else os.getcwd()
    waiting, links = path.split("/")[::-1], list[str]()
    while waiting:
        name = waiting.pop()
        if name == "..":
            here = os.path.dirname(here)
        elif name not in ("", "."):
            here = os.path.join(here, name)
            target = _target(here) if len(links) < MOST_LINKS else None
            if target is not None:
                links.append(here)
                here = "/" if target.startswith("/") else os.path.dirname(here)
                waiting += target.split("/")[::-1]
    return Way(here, tuple(links))


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
