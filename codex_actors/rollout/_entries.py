"""The entries of a tree's journal, and what they add up to.

The format is specified in docs/reference/rollout.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, assert_never, final

import attrs

from ..protocol import AgentPath, InvalidAgentPath, TaskId, TaskOutcome, TaskRecord, ThreadId
from ..wire import (
    WireError,
    decode_object,
    decode_outcome,
    decode_task,
    encode_json,
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


Entry: TypeAlias = AgentCreated | AgentClosed | TaskAssigned | TaskSettled


@final
@attrs.frozen(kw_only=True)
class JournalState:
    """What a journal says, all entries taken together."""

    agents: Mapping[ThreadId, AgentEdge] = attrs.field(factory=dict)
    """Agents that were made and not closed, oldest first."""
    tasks: Mapping[TaskId, TaskRecord] = attrs.field(factory=dict)
    """All tasks, oldest first."""
    problems: tuple[str, ...] = ()
    """Lines that could not be read, and why."""

    @property
    def unsettled(self) -> tuple[TaskRecord, ...]:
        """Tasks that have no outcome yet, oldest first."""
        return tuple(record for record in self.tasks.values() if record.outcome is None)


def add_up(entries: Iterable[Entry], problems: tuple[str, ...] = ()) -> JournalState:
    """What the entries say together."""
    agents: dict[ThreadId, AgentEdge] = {}
    tasks: dict[TaskId, TaskRecord] = {}
    for entry in entries:
        add_entry(agents, tasks, entry)
    return JournalState(agents=agents, tasks=tasks, problems=problems)


def add_entry(
    agents: dict[ThreadId, AgentEdge], tasks: dict[TaskId, TaskRecord], entry: Entry
) -> None:
    """Change what is known by what the entry says. Of two outcomes of a task the first counts."""
    match entry:
        case AgentCreated(edge):
            agents[edge.thread_id] = edge
        case AgentClosed(thread_id):
            agents.pop(thread_id, None)
        case TaskAssigned(record):
            tasks.setdefault(record.id, record)
        case TaskSettled(task_id, outcome, at):
            known = tasks.get(task_id)
            if known is not None and known.outcome is None:
                tasks[task_id] = attrs.evolve(known, outcome=outcome, settled_at=at)
        case _:
            assert_never(entry)


def encode_entry(entry: Entry, stamp: str) -> bytes:
    """One line of JSON, its newline included."""
    tag, payload = _spell(entry)
    return encode_json({"timestamp": stamp, "type": tag, "payload": payload}) + b"\n"


def decode_entry(data: bytes) -> Entry | None:
    """The entry that a line spells; None for a kind that this version does not know.

    Raises:
        WireError: if it is not spelled as its kind is.
    """
    fields = decode_object(data)
    try:
        return _read(fields.get("type"), fields["payload"])
    except (KeyError, TypeError, InvalidAgentPath) as error:
        raise WireError(f"the entry {data[:80]!r} lacks something: {error!r}") from error


def _spell(entry: Entry) -> tuple[str, dict[str, Any]]:
    match entry:
        case AgentCreated(edge):
            return "agent_created", _edge_fields(edge)
        case AgentClosed(thread_id):
            return "agent_closed", {"thread_id": thread_id}
        case TaskAssigned(record):
            return "task_assigned", encode_task(record)
        case TaskSettled(task_id, outcome, at):
            spelled = encode_outcome(outcome)
            return "task_settled", {"task_id": task_id, "outcome": spelled, "settled_at": at}
        case _:
            assert_never(entry)


def _read(tag: Any, payload: dict[str, Any]) -> Entry | None:
    match tag:
        case "agent_created":
            return AgentCreated(_read_edge(payload))
        case "agent_closed":
            return AgentClosed(ThreadId(payload["thread_id"]))
        case "task_assigned":
            return TaskAssigned(decode_task(payload))
        case "task_settled":
            outcome = decode_outcome(payload["outcome"])
            return TaskSettled(TaskId(payload["task_id"]), outcome, payload["settled_at"])
        case _:
            return None


def _edge_fields(edge: AgentEdge) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "path": edge.path.text,
        "thread_id": edge.thread_id,
        "created_at": edge.created_at,
        "spec": edge.spec,
    }
    if edge.parent_thread_id is not None:
        fields["parent_thread_id"] = edge.parent_thread_id
    return fields


def _read_edge(fields: dict[str, Any]) -> AgentEdge:
    return AgentEdge(
        path=AgentPath(fields["path"]),
        thread_id=ThreadId(fields["thread_id"]),
        parent_thread_id=fields.get("parent_thread_id"),
        created_at=fields["created_at"],
        spec=fields.get("spec", {}),
    )
