"""How a rollout says which mail is in its history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..protocol import RolloutLine, UnknownLine

_TAG: Final = "inter_agent_communication_metadata"
"""The reference writes lines of this kind after such items, and passes over ours."""


def delivery_line(mail_id: str) -> UnknownLine:
    """Return the line that follows a piece of mail into the rollout, in the same write."""
    return UnknownLine(_TAG, {"mail_id": mail_id})


def delivered_ids(lines: Iterable[RolloutLine]) -> frozenset[str]:
    """Return the ids of all mail that is in the history."""
    found = (line.payload for line in lines)
    return frozenset(
        line.payload["mail_id"]
        for line in found
        if isinstance(line, UnknownLine)
        and line.type == _TAG
        and isinstance(line.payload, dict)
        and isinstance(line.payload.get("mail_id"), str)
    )
