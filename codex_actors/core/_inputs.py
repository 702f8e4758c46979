"""What can happen to a turn: the inputs of `codex_actors.core.step`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from ..protocol import ErrorInfo, Item, RateLimits, TokenUsage, ToolOutput, TurnItem


@attrs.frozen
class Entry:
    """An item on its way into the history."""

    item: Item
    shown: TurnItem | None = None
    """How people are shown it; None: they are not."""
    mail: str | None = None
    """Id of the mail that it is, if it is any; the rollout says with it that it was delivered."""


@attrs.frozen(kw_only=True)
class Failure:
    """Why a sampling failed."""

    message: str
    info: ErrorInfo = ErrorInfo()
    retryable: bool = False
    delay: float | None = None
    """Seconds the provider asked to wait before the next attempt."""


@attrs.frozen
class ItemReceived:
    """The model finished one item."""

    sampling: int
    entry: Entry


@attrs.frozen
class LimitsSeen:
    """The provider said what is left of its limits."""

    limits: RateLimits


@attrs.frozen
class SamplingDone:
    """The model's stream ended in good order."""

    sampling: int
    usage: TokenUsage | None = None
    end_turn: bool | None = None


@attrs.frozen
class SamplingFailed:
    """The model's stream broke, or never began."""

    sampling: int
    failure: Failure
    jitter: float = 1.0
    """Factor for the wait before the next attempt, 0.9 to 1.1."""


@attrs.frozen
class RetryDue:
    """The wait before the next attempt is over."""

    sampling: int


@attrs.frozen
class ToolFinished:
    """A tool came back."""

    output: ToolOutput
    crash: str | None = None
    """What went wrong inside the tool, if it raised: a bug, and the end of the turn."""


@attrs.frozen
class Steered:
    """A user said something while the turn was running."""

    entries: tuple[Entry, ...]
    quiet: bool = False
    """Whether it is no reason for another turn, if this one is over already."""


@attrs.frozen
class MailArrived:
    """Another agent wrote, and `codex_actors.core.decide_mail` said: this turn."""

    entries: tuple[Entry, ...]


@attrs.frozen
class Interrupted:
    """The turn is to end now: somebody wants it, or there is no budget for more of it."""

    by: str = "user"
    """Who wants it; means nothing if a limit does."""
    limit: str | None = None
    """The limit that was reached, in words for people; None: somebody wants it."""


@attrs.frozen
class WorkersGone:
    """Nothing of the turn runs any more, but for the calls that are named."""

    still_running: tuple[str, ...] = ()
    """Ids of calls whose tools did not end in time."""
    aborted: Mapping[str, str] = attrs.field(factory=dict)
    """What to answer the calls that were cut off, by id."""


TurnInput: TypeAlias = (
    ItemReceived
    | LimitsSeen
    | SamplingDone
    | SamplingFailed
    | RetryDue
    | ToolFinished
    | Steered
    | MailArrived
    | Interrupted
    | WorkersGone
)
