"""What `codex-actors tree` says of each agent, decided from the tree's records. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import final

import attrs

from ..core import next_status
from ..protocol import (
    ROOT,
    AgentPath,
    AgentStatus,
    EventLine,
    EventMsg,
    ItemCompleted,
    RolloutPayload,
    SessionMeta,
    TaskOutcome,
    TaskRecord,
    TextInput,
    ThreadId,
    TokensCounted,
    TokenUsage,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    UserMessageItem,
    UserMessageRecorded,
)
from ..rollout import AgentEdge, JournalState
from ._tree_settings import Effective, effective_settings


@final
@attrs.frozen(kw_only=True)
class ThreadFacts:
    """What one rollout says."""

    status: AgentStatus = "pending_init"
    role: str | None = None
    said: str | None = None
    """What its user said last."""
    usage: TokenUsage = TokenUsage()
    context: TurnContext | None = None
    """What its last turn ran with."""
    seconds: float = 0.0
    """The durations of all turns that ended."""


@final
@attrs.frozen(kw_only=True)
class AgentRow:
    """What is said of one agent."""

    path: str
    thread_id: ThreadId
    parent_thread_id: ThreadId | None = None
    role: str | None = None
    status: AgentStatus = "pending_init"
    task: str | None = None
    """What it is to do now, or did last."""
    outcome: TaskOutcome | None = None
    """How that ended; None if it has not, or nobody wrote it down."""
    tokens: int = 0
    total_tokens_below: int = 0
    """Of all agents below it, itself not included."""
    total_usage: TokenUsage = TokenUsage()
    """Of it and all agents below it."""
    settings: Effective = Effective()
    """What it works with."""
    seconds: float = 0.0
    closed: bool = False
    reason: str | None = None
    """Why it was closed, where that was said."""
    unread: int = 0
    """Letters that wait for it."""
    inner: bool = False
    """Whether there are agents below it."""
    lasts: tuple[bool, ...] = ()
    """Of each generation above it from the root's children on, and of itself: whether it is the
    last of its siblings."""


def gather_facts(payloads: Iterable[RolloutPayload]) -> ThreadFacts:
    """What the lines of a rollout say together."""
    facts = ThreadFacts()
    for payload in payloads:
        match payload:
            case SessionMeta(agent_role=str(role)) if facts.role is None:
                facts = attrs.evolve(facts, role=role)
            case TurnContext():
                facts = attrs.evolve(facts, context=payload)
            case EventLine(msg):
                facts = attrs.evolve(_hear(facts, msg), status=next_status(facts.status, msg))
            case _:
                pass
    return facts


def decide_rows(
    root: ThreadId,
    state: JournalState,
    facts: Mapping[ThreadId, ThreadFacts],
    *,
    running: bool,
) -> tuple[AgentRow, ...]:
    """Every agent of a tree, each before those below it, oldest first.

    An agent whose owner is not known is put below the root, rather than left out: journals may
    be damaged.

    Args:
        root: The thread id of the root, which is there even if the journal does not say so.
        state: What the journal says.
        facts: What the rollouts say, as far as there are any.
        running: Whether a program works on the tree. If not, a turn that did not end was
            interrupted by the end of its program.
    """
    edges = _edges(root, state)
    tasks = _tasks(state)
    unread: dict[ThreadId, int] = defaultdict(int)
    for letter in state.letters.values():
        unread[letter.receiver] += 1
    rows = []
    for edge, owner, lasts in _walk(root, edges):
        row = _row(edge, facts.get(edge.thread_id, ThreadFacts()), tasks.get(edge.thread_id))
        interrupted = row.status == "running" and not running
        row = attrs.evolve(
            row,
            parent_thread_id=owner,
            status="interrupted" if interrupted else row.status,
            closed=edge.thread_id in state.closed,
            reason=state.reasons.get(edge.thread_id),
            unread=unread[edge.thread_id],
            lasts=lasts,
        )
        rows.append(row)
    return _with_sums(rows)


def _hear(facts: ThreadFacts, msg: EventMsg) -> ThreadFacts:
    match msg:
        case TokensCounted(info) if info is not None:
            return attrs.evolve(facts, usage=info.total_token_usage)
        case TurnCompleted() | TurnAborted():
            return attrs.evolve(facts, seconds=facts.seconds + _seconds(msg))
        case UserMessageRecorded(message=text):
            return attrs.evolve(facts, said=text)
        case ItemCompleted(item=UserMessageItem(content=content)):
            text = "\n".join(part.text for part in content if isinstance(part, TextInput))
            return attrs.evolve(facts, said=text)
        case _:
            return facts


def _seconds(msg: TurnCompleted | TurnAborted) -> float:
    if msg.duration_ms is not None:
        return msg.duration_ms / 1000
    if msg.started_at is not None and msg.completed_at is not None:
        return float(msg.completed_at - msg.started_at)
    return 0.0


def _edges(root: ThreadId, state: JournalState) -> dict[ThreadId, AgentEdge]:
    known = {**state.closed, **state.agents}
    known.setdefault(root, AgentEdge(path=ROOT, thread_id=root, created_at=""))
    # Ids grow with time as well, so that those of one millisecond are in order.
    ordered = sorted(known.values(), key=lambda edge: (edge.created_at, edge.thread_id))
    return {edge.thread_id: edge for edge in ordered}


def _walk(
    root: ThreadId, edges: Mapping[ThreadId, AgentEdge]
) -> Iterator[tuple[AgentEdge, ThreadId | None, tuple[bool, ...]]]:
    """Each agent, its owner, and its place among its siblings; owners come first.

    Not recursive: a chain of agents may be longer than Python's stack.
    """
    below = _below(root, edges)
    waiting: list[tuple[ThreadId, ThreadId | None, tuple[bool, ...]]] = [(root, None, ())]
    while waiting:
        thread_id, owner, lasts = waiting.pop()
        yield edges[thread_id], owner, lasts
        children = below[thread_id]
        waiting.extend(
            (child, thread_id, (*lasts, number == 0))
            for number, child in enumerate(reversed(children))
        )


def _below(
    root: ThreadId, edges: Mapping[ThreadId, AgentEdge]
) -> Mapping[ThreadId, Sequence[ThreadId]]:
    """The children of each agent. Who leads up to nobody, or to itself, is the root's."""
    paths = {edge.path: thread_id for thread_id, edge in edges.items()}
    owners = {thread_id: _owner(edge, edges, paths) for thread_id, edge in edges.items()}
    owners[root] = None
    circling = _circling(owners)
    below: dict[ThreadId, list[ThreadId]] = defaultdict(list)
    for thread_id, owner in owners.items():
        if thread_id != root:
            below[root if owner is None or thread_id in circling else owner].append(thread_id)
    return below


def _owner(
    edge: AgentEdge, edges: Mapping[ThreadId, AgentEdge], paths: Mapping[AgentPath, ThreadId]
) -> ThreadId | None:
    if edge.parent_thread_id is not None and edge.parent_thread_id in edges:
        return edge.parent_thread_id
    above = edge.path.parent
    return None if above is None else paths.get(above)


def _circling(owners: Mapping[ThreadId, ThreadId | None]) -> set[ThreadId]:
    """Agents above which there is no end, as some own each other."""
    ends: dict[ThreadId, bool] = {}
    for start in owners:
        chain: dict[ThreadId, None] = {}
        here: ThreadId | None = start
        while here is not None and here not in ends and here not in chain:
            chain[here] = None
            here = owners[here]
        ends |= dict.fromkeys(chain, here is None or ends.get(here, False))
    return {thread_id for thread_id, ended in ends.items() if not ended}


def _tasks(state: JournalState) -> dict[ThreadId, TaskRecord]:
    """Of each agent the task that it is at, or else its last one."""
    last = {record.thread_id: record for record in state.tasks.values()}
    first_open = {record.thread_id: record for record in reversed(state.unsettled)}
    return last | first_open


def _row(edge: AgentEdge, facts: ThreadFacts, task: TaskRecord | None) -> AgentRow:
    role = edge.spec.get("role")
    return AgentRow(
        path=edge.path.text,
        thread_id=edge.thread_id,
        role=role if isinstance(role, str) else facts.role,
        status=facts.status,
        task=facts.said if task is None else task.text,
        outcome=None if task is None else task.outcome,
        tokens=facts.usage.total_tokens,
        total_usage=facts.usage,
        settings=effective_settings(edge.spec, facts.context),
        seconds=facts.seconds,
    )


def _with_sums(rows: Sequence[AgentRow]) -> tuple[AgentRow, ...]:
    """The rows, with what was used below each. Owners stand before what they own."""
    below: dict[ThreadId, TokenUsage] = defaultdict(TokenUsage)
    inner: set[ThreadId] = set()
    for row in reversed(rows):
        if row.parent_thread_id is not None:
            below[row.parent_thread_id] += row.total_usage + below[row.thread_id]
            inner.add(row.parent_thread_id)
    return tuple(
        attrs.evolve(
            row,
            total_tokens_below=below[row.thread_id].total_tokens,
            total_usage=row.total_usage + below[row.thread_id],
            inner=row.thread_id in inner,
        )
        for row in rows
    )
