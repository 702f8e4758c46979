"""Where a question stands while it is open, whatever that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, final

import attrs

from ._ask_frame import Frame
from ._ask_state import Page

Look: TypeAlias = Callable[[int, int, float], Frame]
"""Lays a question out for a width, a height, and the time in Unix seconds; in any thread."""


@final
@attrs.frozen
class Verdict:
    """What became of a question."""

    kind: Literal["yes", "no", "gone"]
    text: str


class Stage(Protocol):
    """Shows one question at a time."""

    async def show(self, look: Look) -> Page:
        """Show it as it looks now, in place of what it looked like, and say what is seen of it."""
        ...

    async def renew(self) -> None:
        """Believe no more that what was shown is still there."""
        ...

    async def hide(self, verdict: Verdict) -> None:
        """Take it away, and tell in one line what became of it."""
        ...

    def drop(self) -> None:
        """Take it away, if there is one, without a word: the program ends."""
        ...
