from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._tree_rows import AgentRow, ThreadFacts, decide_rows, gather_facts
from codex_actors.cli._tree_settings import Effective
from codex_actors.protocol import (
    ROOT,
    AgentPath,
    Compacted,
    Completed,
    DangerFullAccess,
    EventLine,
    ItemCompleted,
    LetterId,
    PostedLetter,
    ReadOnly,
    RolloutPayload,
    SessionMeta,
    TaskCompleted,
    TaskId,
    TaskRecord,
    TextInput,
    ThreadId,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnAborted,
    TurnCompleted,
    TurnContext,
    TurnStarted,
    UserMessageItem,
    UserMessageRecorded,
)
from codex_actors.rollout import AgentEdge, JournalState

LEAD = ThreadId("lead")


def edge(path: str, parent: str | None = None, *, made: int = 0, role: str = "") -> AgentEdge:
    """An agent whose thread is called as itself."""
    place = AgentPath(path)
    return AgentEdge(
        path=place,
        thread_id=ThreadId("lead" if place == ROOT else place.name),
        parent_thread_id=None if parent is None else ThreadId(parent),
        created_at=f"{made:03d}",
        spec={"role": role} if role else {},
    )


def by_thread(*edges: AgentEdge) -> dict[ThreadId, AgentEdge]:
    return {each.thread_id: each for each in edges}


def task(name: str, thread: str, text: str) -> TaskRecord:
    return TaskRecord(
        id=TaskId(name), thread_id=ThreadId(thread), path=ROOT, text=text, assigned_at=""
    )


def used(tokens: int) -> EventLine:
    usage = TokenUsage(total_tokens=tokens)
    return EventLine(TokensCounted(TokenUsageInfo(total_token_usage=usage), None))


def without_totals(rows: tuple[AgentRow, ...]) -> tuple[AgentRow, ...]:
    """The rows; of what was used in all, checked against the tokens and left out."""
    for row in rows:
        assert row.tokens + row.total_tokens_below == row.total_usage.total_tokens
    return tuple(attrs.evolve(row, total_usage=TokenUsage()) for row in rows)


def test_settings_are_those_of_the_last_turn_or_else_those_it_was_made_with() -> None:
    spec = {"model": "m", "effort": "low", "cwd": "/w", "sandbox_policy": {"type": "read-only"}}
    made = attrs.evolve(edge("/root/a", "lead", made=1), spec=spec)
    odd = attrs.evolve(edge("/root/b", "lead", made=2), spec={"model": 3})
    state = JournalState(agents=by_thread(made, odd))
    last = TurnContext(
        cwd="/v", approval_policy="never", sandbox_policy=DangerFullAccess(), model="n"
    )
    facts = {LEAD: gather_facts([attrs.evolve(last, model="old"), last])}

    rows = decide_rows(LEAD, state, facts, running=True)
    assert [
        Effective(model="n", sandbox=DangerFullAccess(), cwd="/v"),
        Effective(model="m", effort="low", sandbox=ReadOnly(), cwd="/w"),
        Effective(),
    ] == [row.settings for row in rows]


def test_what_a_rollout_says() -> None:
    meta = SessionMeta(
        id="1", session_id="1", timestamp="", cwd="", originator="", cli_version="",
        agent_role="reviewer",
    )  # fmt: skip
    said = UserMessageItem(id="1", content=(TextInput("and"), TextInput("then")))
    lines: list[RolloutPayload] = [
        meta,
        EventLine(UserMessageRecorded(message="first")),
        EventLine(TurnStarted(turn_id="1")),
        used(3),
        used(5),
        EventLine(TokensCounted(None, None)),
        EventLine(TurnCompleted(turn_id="1", last_agent_message="x", duration_ms=1500)),
        Compacted(message=""),
        EventLine(ItemCompleted(thread_id="1", turn_id="2", item=said, completed_at_ms=0)),
        EventLine(TurnAborted(turn_id="2", reason="interrupted", started_at=7, completed_at=9)),
        EventLine(TurnCompleted(turn_id="3", last_agent_message="done")),
    ]

    expected = ThreadFacts(
        status=Completed("done"),
        role="reviewer",
        said="and\nthen",
        usage=TokenUsage(total_tokens=5),
        seconds=3.5,
    )
    assert expected == gather_facts(lines)
    assert ThreadFacts() == gather_facts([])


def test_agents_stand_below_their_owners_oldest_first() -> None:
    state = JournalState(
        agents=by_thread(
            edge("/root"),
            edge("/root/b", "lead", made=2),
            edge("/root/a", "lead", made=3, role="reviewer"),
        ),
        closed=by_thread(edge("/root/b/c", "b", made=4), edge("/root/d", "lead", made=1)),
        reasons={ThreadId("d"): "crashed"},
        tasks={
            TaskId("1"): attrs.evolve(task("1", "a", "one"), outcome=TaskCompleted("x")),
            TaskId("2"): task("2", "a", "two"),
            TaskId("3"): task("3", "a", "three"),
            TaskId("4"): attrs.evolve(task("4", "b", "four"), outcome=TaskCompleted("y")),
        },
        letters={
            LetterId("1"): PostedLetter(
                id=LetterId("1"), sender=ROOT, receiver=ThreadId("a"), path=ROOT.child("a"),
                text="", trigger=False, sent_at="",
            )
        },
    )  # fmt: skip
    facts = {
        LEAD: ThreadFacts(
            status=Completed("z"), said="begin", usage=TokenUsage(total_tokens=1), seconds=2.0
        ),
        ThreadId("b"): ThreadFacts(usage=TokenUsage(total_tokens=10)),
        ThreadId("c"): ThreadFacts(usage=TokenUsage(total_tokens=100)),
        ThreadId("a"): ThreadFacts(
            status="running", usage=TokenUsage(total_tokens=1000), role="other"
        ),
    }
    expected = (
        AgentRow(
            path="/root", thread_id=LEAD, status=Completed("z"), task="begin", tokens=1,
            total_tokens_below=1110, seconds=2.0, inner=True,
        ),
        AgentRow(
            path="/root/d", thread_id=ThreadId("d"), parent_thread_id=LEAD, closed=True,
            reason="crashed", lasts=(False,),
        ),
        AgentRow(
            path="/root/b", thread_id=ThreadId("b"), parent_thread_id=LEAD, task="four",
            outcome=TaskCompleted("y"), tokens=10, total_tokens_below=100, inner=True,
            lasts=(False,),
        ),
        AgentRow(
            path="/root/b/c", thread_id=ThreadId("c"), parent_thread_id=ThreadId("b"), tokens=100,
            closed=True, lasts=(False, True),
        ),
        AgentRow(
            path="/root/a", thread_id=ThreadId("a"), parent_thread_id=LEAD, role="reviewer",
            status="running", task="two", tokens=1000, unread=1, lasts=(True,),
        ),
    )  # fmt: skip

    assert expected == without_totals(decide_rows(LEAD, state, facts, running=True))
    ended = without_totals(decide_rows(LEAD, state, facts, running=False))
    assert (*expected[:-1], attrs.evolve(expected[-1], status="interrupted")) == ended


def test_a_root_that_no_journal_speaks_of() -> None:
    expected = AgentRow(path="/root", thread_id=LEAD, task="hi")

    assert (expected,) == decide_rows(
        LEAD, JournalState(), {LEAD: ThreadFacts(said="hi")}, running=False
    )


def test_who_has_no_owner_is_below_the_root() -> None:
    agents = by_thread(
        edge("/root/a", "gone", made=1),
        edge("/root/a/b", None, made=2),
        edge("/root/x", "y", made=3),
        edge("/root/y", "x", made=4),
        edge("/root/q/z", "x", made=5),
    )
    rows = decide_rows(LEAD, JournalState(agents=agents), {}, running=False)

    owners = {row.thread_id: row.parent_thread_id for row in rows}
    assert {"lead": None, "a": "lead", "b": "a", "x": "lead", "y": "lead", "z": "lead"} == owners


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdefg")), max_size=9))
def test_whatever_a_journal_says_each_agent_is_drawn_once(owned: list[tuple[str, str]]) -> None:
    agents = by_thread(*(edge(f"/root/{child}", owner) for child, owner in owned))
    facts = dict.fromkeys(agents, ThreadFacts(usage=TokenUsage(total_tokens=1)))
    rows = decide_rows(LEAD, JournalState(agents=agents), facts, running=False)

    assert sorted([LEAD, *agents]) == sorted(row.thread_id for row in rows)
    assert len(agents) == rows[0].total_tokens_below
    seen: set[str | None] = {None}
    for row in rows:
        assert row.parent_thread_id in seen
        seen.add(row.thread_id)


def test_a_chain_may_be_longer_than_the_stack() -> None:
    made = [edge("/root/n0", "lead")]
    for number in range(1, 1500):
        made.append(edge(f"/root/n{number}", f"n{number - 1}", made=number))
    rows = decide_rows(LEAD, JournalState(agents=by_thread(*made)), {}, running=False)

    assert 1500 == len(rows[-1].lasts)
