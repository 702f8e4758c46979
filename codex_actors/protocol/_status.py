"""What an agent is doing, in one value."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs


@attrs.frozen
class Completed:
    """The last turn ended well."""

    message: str | None
    """The agent's last message."""


@attrs.frozen
class Errored:
    """The last turn failed."""

    message: str


AgentStatus: TypeAlias = (
    Literal["pending_init", "running", "interrupted", "shutdown", "not_found"] | Completed | Errored
)
