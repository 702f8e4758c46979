"""What agents have used of what they may use: everything counts for the agents above, too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import final

import attrs
import trio

from ..core import over_limit, over_turns
from ..protocol import AgentPath, Limits, Spent


@final
@attrs.define(eq=False, kw_only=True)
class Account:
    """An agent's, with all below it. Times are in seconds of Trio's clock."""

    path: AgentPath
    limits: Limits = Limits()
    owner: Account | None = None
    """Of the agent that owns this one."""
    turns: int = 0
    tokens: int = 0
    _busy: float = 0.0
    """Seconds in which a turn ran, up to `_since`."""
    _running: int = 0
    _since: float = 0.0

    bounded: bool = attrs.field(init=False)
    """Whether it, or one of its owners, has a limit on what is counted here."""

    def __attrs_post_init__(self) -> None:
        limits = self.limits
        limited = not (limits.turns is None and limits.tokens is None and limits.seconds is None)
        self.bounded = limited or (self.owner is not None and self.owner.bounded)

    def begin_turn(self, now: float) -> None:
        """Note that a turn of the agent begins."""
        for account in self._line():
            account.turns += 1
            if not account._running:
                account._since = now
            account._running += 1

    def end_turn(self, now: float) -> None:
        """Note that it has ended."""
        for account in self._line():
            account._running -= 1
            if not account._running:
                account._busy += now - account._since

    def charge(self, tokens: int) -> None:
        """Note tokens that the agent has used."""
        for account in self._line():
            account.tokens += tokens

    def spent(self, now: float) -> Spent:
        """What has been used so far."""
        running = now - self._since if self._running else 0.0
        return Spent(turns=self.turns, tokens=self.tokens, seconds=self._busy + running)

    def refuses_request(self) -> str | None:
        """Say which limit forbids the next request, of this agent or of one above it."""
        if not self.bounded:
            return None
        now = trio.current_time()
        found = (over_limit(a.limits, a.spent(now), a.path) for a in self._line())
        return next((limit for limit in found if limit is not None), None)

    def refuses_turn(self) -> str | None:
        """Say which limit forbids the next turn, of this agent or of one above it."""
        if not self.bounded:
            return None
        now = trio.current_time()
        found = (over_turns(a.limits, a.spent(now), a.path) for a in self._line())
        refused = next((limit for limit in found if limit is not None), None)
        return refused or self.refuses_request()

    def deadline(self) -> float:
        """Until when the turn that runs may run; infinite if nothing says so."""
        if not self.bounded:
            return math.inf
        now = trio.current_time()
        return min(a._ends(now) for a in self._line())

    def _ends(self, now: float) -> float:
        if self.limits.seconds is None:
            return math.inf
        return now + self.limits.seconds - self.spent(now).seconds

    def _line(self) -> Iterator[Account]:
        account: Account | None = self
        while account is not None:
            yield account
            account = account.owner
