"""Names of things: threads, turns, calls, and places in a tree."""

from __future__ import annotations

import re
from typing import Final, NewType

import attrs

from .._errors import CodexActorsError

ThreadId = NewType("ThreadId", str)
"""A UUIDv7; names one conversation for ever."""
TurnId = NewType("TurnId", str)
"""A UUIDv7; names one turn, and is the id of the submission that began it."""
TaskId = NewType("TaskId", str)
"""A UUIDv7; names one piece of work given to an agent."""
CallId = NewType("CallId", str)
"""The model's own name for one tool call; unique within a thread."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


class InvalidAgentPath(CodexActorsError, ValueError):
    """A text that is not a place in a tree."""


def _is_path(_: object, __: object, value: str) -> None:
    first, *names = value.split("/")
    if first or not names or not all(map(_NAME.fullmatch, names)):
        raise InvalidAgentPath(
            f"{value!r} is not an agent path; write slashes and names of letters,"
            " digits, '-' and '_', like '/root/reviewer'"
        )


@attrs.frozen(order=True)
class AgentPath:
    """An agent's place in its tree, like ``/root/reviewer``.

    Raises:
        InvalidAgentPath: if the text is not slashes and names.
    """

    text: str = attrs.field(validator=_is_path)

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The last part."""
        return self.text.rpartition("/")[2]

    @property
    def parent(self) -> AgentPath | None:
        """The owner's path; None for a root."""
        head = self.text.rpartition("/")[0]
        return AgentPath(head) if head else None

    @property
    def depth(self) -> int:
        """How many owners are above: 0 for a root."""
        return self.text.count("/") - 1

    def child(self, name: str) -> AgentPath:
        """The path of a child called ``name``.

        Raises:
            InvalidAgentPath: if it is not one name.
        """
        if not _NAME.fullmatch(name):
            raise InvalidAgentPath(
                f"{name!r} is not the name of an agent; write letters, digits, '-' and '_'"
            )
        return AgentPath(f"{self.text}/{name}")


ROOT: Final = AgentPath("/root")
