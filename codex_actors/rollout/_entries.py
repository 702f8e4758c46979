"""The entries of a tree's journal, and how they are spelled.

The format is specified in docs/reference/rollout.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never, final

import attrs

from ..protocol import (
    AgentPath,
    InvalidAgentPath,
    LetterId,
    PostedLetter,
    TaskId,
    TaskOutcome,
    TaskRecord,
    ThreadId,
)
from ..wire import (
    WireError,
    decode_letter,
    decode_object,
    decode_outcome,
    decode_task,
    encode_json,
    encode_letter,
    encode_outcome,
    encode_task,
)


@final
@attrs.frozen(kw_only=True)
class AgentEdge:
    """An agent and who owns it."""

    path: AgentPath
    thread_id: ThreadId
    parent_thread_id: ThreadId | None = None
    """None for the root."""
    created_at: str
    """UTC, as in rollout lines."""
    spec: Mapping[str, Any] = attrs.field(factory=dict)
    """What it was made from, as far as that is plain JSON: to make it again on resume."""


@final
@attrs.frozen
class AgentCreated:
    """An agent was made."""

    edge: AgentEdge


@final
@attrs.frozen
class AgentClosed:
    """An agent was closed, and will not be resumed with its tree."""

    thread_id: ThreadId
    reason: str | None = None
    """``closed``, ``crashed``, or ``along`` with its owner; None in journals of versions that
    did not say."""


@final
@attrs.frozen
class TaskAssigned:
    """Work was given to an agent."""

    record: TaskRecord


@final
@attrs.frozen
class TaskSettled:
    """Work ended."""

    task_id: TaskId
    outcome: TaskOutcome
    settled_at: str
    """UTC, as in rollout lines."""


@final
@attrs.frozen
class LetterPosted:
    """An agent wrote to another; from here on the letter will arrive."""

    letter: PostedLetter


@final
@attrs.frozen
class LettersDelivered:
    """Letters entered the history of the agent that they were for; so did ends of tasks."""

    letter_ids: tuple[LetterId | TaskId, ...]
    thread_id: ThreadId
    turn_id: str | None = None
    """The turn that read them; None if it is not known."""


@final
@attrs.frozen
class Together:
    """Entries that the disk takes in one write or refuses as a whole. Each has its own line."""

    entries: tuple[Entry, ...]


Entry: TypeAlias = (
    AgentCreated
    | AgentClosed
    | TaskAssigned
    | TaskSettled
    | LetterPosted
    | LettersDelivered
    | Together
)


def encode_entry(entry: Entry, stamp: str) -> bytes:
    """One line of JSON, its newline included; of entries that go together one line each."""
    if isinstance(entry, Together):
        return b"".join([encode_entry(each, stamp) for each in entry.entries])
    tag, payload = _spell(entry)
    return encode_json({"timestamp": stamp, "type": tag, "payload": payload}) + b"\n"


def decode_entry(data: bytes) -> Entry | None:
    """The entry that a line spells; None for a kind that this version does not know.

    Raises:
        WireError: if it is not spelled as its kind is, whatever else it may be.
    """
    fields = decode_object(data)
    try:
        return _read(_text(fields, "type"), _table(fields, "payload"))
    except (KeyError, TypeError, InvalidAgentPath, RecursionError) as error:
        raise WireError(f"the entry {data[:80]!r} lacks something: {error!r}") from error


def _spell(
    entry: AgentCreated
    | AgentClosed
    | TaskAssigned
    | TaskSettled
    | LetterPosted
    | LettersDelivered,
) -> tuple[str, dict[str, Any]]:
    match entry:
        case AgentCreated(edge):
            return "agent_created", _edge_fields(edge)
        case AgentClosed(thread_id, reason):
            return "agent_closed", _present(thread_id=thread_id, reason=reason)
        case TaskAssigned(record):
            return "task_assigned", encode_task(record)
        case TaskSettled(task_id, outcome, at):
            spelled = encode_outcome(outcome)
            return "task_settled", {"task_id": task_id, "outcome": spelled, "settled_at": at}
        case LetterPosted(letter):
            return "letter_posted", encode_letter(letter)
        case LettersDelivered(letter_ids, thread_id, turn_id):
            fields = _present(letter_ids=letter_ids, thread_id=thread_id, turn_id=turn_id)
            return "letters_delivered", fields
        case _:
            assert_never(entry)


def _read(tag: str, payload: Mapping[str, Any]) -> Entry | None:
    match tag:
        case "agent_created":
            return AgentCreated(_read_edge(payload))
        case "agent_closed":
            return AgentClosed(
                ThreadId(_text(payload, "thread_id")), _optional_text(payload, "reason")
            )
        case "task_assigned":
            return TaskAssigned(decode_task(payload))
        case "task_settled":
            return TaskSettled(
                TaskId(_text(payload, "task_id")),
                decode_outcome(payload["outcome"]),
                _text(payload, "settled_at"),
            )
        case "letter_posted":
            return LetterPosted(decode_letter(payload))
        case "letters_delivered":
            return LettersDelivered(
                tuple(map(LetterId, _texts(payload, "letter_ids"))),
                ThreadId(_text(payload, "thread_id")),
                _optional_text(payload, "turn_id"),
            )
        case _:
            return None


def _edge_fields(edge: AgentEdge) -> dict[str, Any]:
    return _present(
        path=edge.path.text,
        thread_id=edge.thread_id,
        created_at=edge.created_at,
        spec=edge.spec,
        parent_thread_id=edge.parent_thread_id,
    )


def _read_edge(fields: Mapping[str, Any]) -> AgentEdge:
    parent = _optional_text(fields, "parent_thread_id")
    return AgentEdge(
        path=AgentPath(_text(fields, "path")),
        thread_id=ThreadId(_text(fields, "thread_id")),
        parent_thread_id=None if parent is None else ThreadId(parent),
        created_at=_text(fields, "created_at"),
        spec=_table(fields, "spec") if "spec" in fields else {},
    )


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    value = fields[name]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is no list of texts")
    return value


def _table(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no table")
    return value
