"""How statuses and tasks are spelled."""

from __future__ import annotations

from typing import Any, Final, cast

import cattrs

from ..protocol import (
    AgentPath,
    AgentStatus,
    Completed,
    Errored,
    TaskCompleted,
    TaskFailed,
    TaskInterrupted,
    TaskOutcome,
    TaskOverBudget,
    TaskTimedOut,
)
from ._unions import TaggedUnion

_OUTCOMES: Final = TaggedUnion(
    tags={
        "completed": TaskCompleted,
        "failed": TaskFailed,
        "interrupted": TaskInterrupted,
        "timed_out": TaskTimedOut,
        "over_budget": TaskOverBudget,
    },
)
_STATUS_WORDS: Final = ("pending_init", "running", "interrupted", "shutdown", "not_found")


def register_tasks(converter: cattrs.Converter) -> None:
    """Teach the converter statuses, paths and tasks."""
    converter.register_structure_hook(AgentPath, _read_path)
    converter.register_unstructure_hook(AgentPath, str)
    converter.register_structure_hook(AgentStatus, _read_status)
    converter.register_unstructure_hook(AgentStatus, _write_status)
    _OUTCOMES.register(converter, TaskOutcome)


def _read_path(value: Any, _: Any) -> AgentPath:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not an agent path")
    return AgentPath(value)


def _read_status(value: Any, _: Any) -> AgentStatus:
    match value:
        case "pending_init" | "running" | "interrupted" | "shutdown" | "not_found" as word:
            return cast("AgentStatus", word)
        case {"completed": None | str() as message}:
            return Completed(message)
        case {"errored": str(message)}:
            return Errored(message)
        case _:
            raise ValueError(f"{value!r} is not a status; the words are {_STATUS_WORDS}")


def _write_status(status: AgentStatus) -> Any:
    match status:
        case Completed(message):
            return {"completed": message}
        case Errored(message):
            return {"errored": message}
        case word:
            return word
