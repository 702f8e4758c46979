"""What agents write to each other."""

from __future__ import annotations

from typing import NewType

import attrs

from ._collaboration import Generation
from ._ids import AgentPath, ThreadId

LetterId = NewType("LetterId", str)
"""A UUIDv7; names one letter, so that it is delivered once."""


@attrs.frozen(kw_only=True)
class Letter:
    """A letter as its sender hands it in."""

    text: str
    trigger: bool = False
    """Whether it starts a turn of a receiver that is idle; otherwise it waits for the next."""
    sender: AgentPath | None = None
    """None: the agent whose tool sends it, or the root if that is nobody's."""


@attrs.frozen(kw_only=True)
class PostedLetter:
    """A letter that was accepted: it will reach its receiver, exactly once."""

    id: LetterId
    sender: AgentPath
    receiver: ThreadId
    path: AgentPath
    """The receiver's."""
    text: str
    trigger: bool
    sent_at: str
    """UTC, as in rollout lines."""
    generation: Generation | None = None
    """Of the tools that it was written with: how it is spelled. None: a program wrote it."""
