"""What a request is sent on, and what comes back: the part of HTTP that has two makers.

`DirectLine` speaks HTTP itself, which costs half of what a library costs; it is for the straight
way to a server. `LibraryLine` is httpx, for the ways through proxies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


class LineBroke(Exception):
    """The connection could not be made or broke off; the cause says why."""


class LineSilent(LineBroke):
    """Nothing came for too long."""


class NoSuchLine(Exception):
    """The address is none; the cause says why."""


class Reply(Protocol):
    """An answer whose body is still coming in."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""

    @property
    def unpacked(self) -> bool:
        """Whether the body comes without its content encoding."""

    @property
    def ended(self) -> bool:
        """Whether all of the body is known to have come."""

    async def receive_some(self) -> bytes | None:
        """Return the next piece of the body; None at its end.

        Raises:
            LineBroke: if the connection broke.

        Cancellation: closes the connection.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connection: kept when the body has ended, else closed at once."""


class Line(Protocol):
    """Connections to one server, as many as there are requests at once."""

    async def send(self, headers: Mapping[str, str], body: Sequence[bytes] | None) -> Reply:
        """Post the body, in pieces, or get what is there; return once an answer's headers are here.

        However long that takes: the caller has a deadline.

        Raises:
            LineBroke: if no answer came.
            NoSuchLine: if the address is none.

        Cancellation: closes the connection.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""


def join_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names in lower case; those of one name stand together."""
    found = dict[str, str]()
    for name, value in fields:
        name = name.lower()
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
