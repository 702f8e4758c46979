"""What a turn asks the shell to do, in the imperative."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ..protocol import EventMsg, ToolCall
from ._inputs import Entry


@attrs.frozen
class Sample:
    """Ask the model to go on from the history."""

    sampling: int


@attrs.frozen
class StopSampling:
    """Close the stream; what it still says is not wanted. Counts as its end."""


@attrs.frozen
class StartTool:
    """Run the tool."""

    call: ToolCall


@attrs.frozen
class Record:
    """Append the item to history and rollout, and show it."""

    entry: Entry


@attrs.frozen
class RecordContext:
    """Append the settings that the turn runs with to the rollout."""


@attrs.frozen
class Flush:
    """Get everything recorded so far to the disk before the next announcement."""


@attrs.frozen
class Announce:
    """Tell the world; the runner fills in the times."""

    event: EventMsg


@attrs.frozen
class ShowDiff:
    """Announce what the patches of this turn have changed so far, if they did."""


@attrs.frozen
class WaitRetry:
    """Feed `RetryDue` after so many seconds."""

    sampling: int
    seconds: float


@attrs.frozen
class CancelWorkers:
    """Cancel the stream, the tools and the waits; feed `WorkersGone` when they are gone."""


Effect: TypeAlias = (
    Sample
    | StopSampling
    | StartTool
    | Record
    | RecordContext
    | Flush
    | Announce
    | ShowDiff
    | WaitRetry
    | CancelWorkers
)
