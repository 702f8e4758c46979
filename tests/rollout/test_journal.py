from __future__ import annotations

import io
import json
import os
import resource
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.protocol import (
    ROOT,
    LetterId,
    PostedLetter,
    TaskCompleted,
    TaskFailed,
    TaskId,
    TaskInterrupted,
    TaskRecord,
    ThreadId,
)
from codex_actors.rollout import (
    AgentEdge,
    DuplicateTask,
    JournalError,
    JournalRefused,
    JournalState,
    JournalUnreadable,
    UnknownTask,
    journal_path,
    open_clerk,
    open_journal,
    read_journal,
)
from codex_actors.rollout._entries import (
    AgentClosed,
    AgentCreated,
    Entry,
    LetterPosted,
    LettersDelivered,
    TaskAssigned,
    TaskSettled,
    Together,
    decode_entry,
    encode_entry,
)
from codex_actors.rollout._journal import Journal
from codex_actors.rollout._journal_lines import read_entries
from codex_actors.rollout._tally import Tally, add_up
from codex_actors.testing import _strategies as some
from codex_actors.wire import WireError

LEAD = ThreadId("lead")
NOON = 1767355445.678
STAMP = "2026-01-02T12:04:05.678Z"


def task(name: str) -> TaskRecord:
    return TaskRecord(id=TaskId(name), thread_id=LEAD, path=ROOT, text="do it", assigned_at=STAMP)


def edge(name: str) -> AgentEdge:
    return AgentEdge(
        path=ROOT.child(name),
        thread_id=ThreadId(name),
        parent_thread_id=LEAD,
        created_at=STAMP,
        spec={"model": "m"},
    )


def letter(name: str, receiver: str = "a") -> PostedLetter:
    return PostedLetter(
        id=LetterId(name),
        sender=ROOT,
        receiver=ThreadId(receiver),
        path=ROOT.child(receiver),
        text="look here",
        trigger=True,
        sent_at=STAMP,
    )


def lines_in(home: Path) -> int:
    return Path(path_in(home)).read_bytes().count(b"\n")


def path_in(home: Path) -> str:
    return journal_path(str(home), LEAD)


async def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    done = TaskCompleted("well")
    async with open_journal(str(tmp_path), LEAD, now=lambda: NOON) as journal:
        await journal.create_agent(edge("a"))
        await journal.create_agent(edge("b"))
        await journal.assign(task("1"))
        await journal.assign(task("2"))
        settled = await journal.settle(TaskId("1"), done)
        await journal.close_agent(ThreadId("b"))
        state = journal.state
    async with open_journal(str(tmp_path), LEAD) as again:
        resumed = again.state

    expected = JournalState(
        agents={ThreadId("a"): edge("a")},
        closed={ThreadId("b"): edge("b")},
        reasons={ThreadId("b"): "closed"},
        tasks={
            TaskId("1"): attrs.evolve(task("1"), outcome=done, settled_at=STAMP),
            TaskId("2"): task("2"),
        },
    )
    assert (expected, expected, expected) == (state, resumed, read_journal(path_in(tmp_path)))
    assert settled == expected.tasks[TaskId("1")]
    assert (task("2"),) == expected.unsettled
    assert 0o600 == os.stat(path_in(tmp_path)).st_mode & 0o777


async def test_letters_wait_until_they_are_delivered_or_their_agent_is_closed(
    tmp_path: Path,
) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.create_agents([edge("a"), edge("b")])
        for name, receiver in [("1", "a"), ("2", "b"), ("3", "a"), ("4", "a")]:
            await journal.post(letter(name, receiver))
        before = journal.letters(ThreadId("a"))
        await journal.deliver(ThreadId("a"), [LetterId("1"), LetterId("3")], "turn")
        delivered = lines_in(tmp_path)
        await journal.deliver(ThreadId("a"), [LetterId("1"), LetterId("?")])
        again = lines_in(tmp_path)
        await journal.close_agent(ThreadId("b"), "crashed")
        state = journal.state

    assert (letter("1"), letter("3"), letter("4")) == before
    assert delivered == again
    assert {LetterId("4"): letter("4")} == state.letters
    assert {ThreadId("b"): "crashed"} == state.reasons
    assert state == read_journal(path_in(tmp_path))
    assert ((letter("4"),), ()) == tuple(map(journal.letters, map(ThreadId, "ab")))


async def test_ends_of_tasks_wait_for_who_is_to_be_told(tmp_path: Path) -> None:
    told = [
        attrs.evolve(task(n), reply_to=ThreadId(to)) for n, to in zip("1234", "aaba", strict=True)
    ]
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.create_agents([edge("a"), edge("b")])
        for record in [*told, task("5")]:
            await journal.assign(record)
        await journal.settle_many({TaskId(n): TaskCompleted("done") for n in "1235"})
        before = [record.id for record in journal.news(ThreadId("a"))]
        await journal.deliver(ThreadId("a"), [TaskId("1")])
        await journal.close_agent(ThreadId("b"))
        state = journal.state

    assert ["1", "2"] == before
    assert {TaskId("2"): state.tasks[TaskId("2")]} == state.news
    assert state == read_journal(path_in(tmp_path))
    assert [False, True] == [journal.waits(TaskId(n)) for n in "12"]


async def test_one_thing_is_had_without_copying_all(tmp_path: Path) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.create_agents([edge("a"), edge("b")])
        await journal.assign(task("1"))
        await journal.assign(task("2"))
        await journal.settle(TaskId("1"), TaskCompleted(None))
        await journal.close_agents([ThreadId("a"), ThreadId("a")])
        await journal.close_agents([ThreadId("a")])
        state = journal.state

    assert state.unsettled == journal.unsettled() == (task("2"),)
    assert (task("2"), None) == (journal.task(TaskId("2")), journal.task(TaskId("3")))
    assert (state.agents, state.closed) == (journal.agents, journal.closed)
    assert [ThreadId("b")] == list(journal.agents)
    assert state == read_journal(path_in(tmp_path))


async def test_many_entries_are_one_write(tmp_path: Path) -> None:
    names = [f"{number}" for number in range(50)]
    async with (
        open_clerk() as clerk,
        open_journal(str(tmp_path), LEAD, clerk=clerk, now=lambda: NOON) as journal,
    ):
        for name in names:
            await journal.assign(task(name))
        await journal.settle(TaskId("7"), TaskInterrupted("user"))
        writes = clerk.batches
        await journal.create_agents(map(edge, names))
        records = await journal.settle_many(dict.fromkeys(map(TaskId, names), TaskFailed("no")))
        await journal.close_agents(map(ThreadId, names), "crashed")
        await journal.create_agents([])
        assert () == await journal.settle_many({})
        with pytest.raises(UnknownTask):
            await journal.settle_many({TaskId("?"): TaskCompleted(None)})

    assert 3 == clerk.batches - writes
    assert names == [record.id for record in records]
    assert {TaskFailed("no"): 49, TaskInterrupted("user"): 1} == Counter(
        record.outcome for record in records
    )
    assert journal.state == read_journal(path_in(tmp_path))


async def test_of_those_who_settle_the_same_tasks_each_is_told_the_same(
    tmp_path: Path, schedule: int
) -> None:
    told: dict[TaskId, set[TaskRecord]] = defaultdict(set)
    async with open_journal(str(tmp_path), LEAD) as journal:
        for name in "1234":
            await journal.assign(task(name))

        async def settle(who: str, names: str) -> None:
            outcomes = dict.fromkeys(map(TaskId, names), TaskInterrupted(who))
            for record in await journal.settle_many(outcomes):
                told[record.id].add(record)

        async with trio.open_nursery() as nursery:
            for who, names in [("a", "12"), ("b", "23"), ("c", "34"), ("d", "4321"), ("e", "1")]:
                nursery.start_soon(settle, who, names)

    assert {name: {record} for name, record in journal.state.tasks.items()} == told
    assert 8 == lines_in(tmp_path)
    assert journal.state == read_journal(path_in(tmp_path))


async def test_the_first_outcome_counts(tmp_path: Path) -> None:
    async with open_journal(str(tmp_path), LEAD, now=lambda: NOON) as journal:
        await journal.assign(task("1"))
        first = await journal.settle(TaskId("1"), TaskInterrupted("user"))
        second = await journal.settle(TaskId("1"), TaskCompleted("too late"))

    assert TaskInterrupted("user") == first.outcome
    assert first == second
    assert {TaskId("1"): first} == read_journal(path_in(tmp_path)).tasks


async def test_of_many_who_settle_at_once_all_are_told_the_same(
    tmp_path: Path, schedule: int
) -> None:
    told: list[TaskRecord] = []
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("1"))

        async def settle(who: str) -> None:
            told.append(await journal.settle(TaskId("1"), TaskInterrupted(who)))

        async with trio.open_nursery() as nursery:
            for who in "abcde":
                nursery.start_soon(settle, who)

    assert [told[0]] * 5 == told
    assert 2 == lines_in(tmp_path)


async def test_who_is_cancelled_leaves_it_to_the_next_or_has_done_it(
    tmp_path: Path, schedule: int
) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        for number in range(30):
            name = TaskId(f"{number}")
            await journal.assign(task(name))
            scope = trio.CancelScope()
            told: list[TaskRecord] = []
            async with trio.open_nursery() as nursery:

                async def doomed(
                    name: TaskId = name,
                    scope: trio.CancelScope = scope,
                    told: list[TaskRecord] = told,
                ) -> None:
                    with scope:
                        told.append(await journal.settle(name, TaskInterrupted("doomed")))

                async def other(name: TaskId = name, told: list[TaskRecord] = told) -> None:
                    told.append(await journal.settle(name, TaskInterrupted("other")))

                nursery.start_soon(doomed)
                nursery.start_soon(other)
                for _ in range(number % 4):
                    await trio.lowlevel.checkpoint()
                scope.cancel()

            assert [journal.state.tasks[name]] * len(told) == told

        assert journal.state == read_journal(path_in(tmp_path))
        assert () == journal.state.unsettled


async def test_an_entry_of_a_cancelled_caller_is_written_whole_or_not_at_all(
    tmp_path: Path, schedule: int
) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        for number in range(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(journal.create_agent, edge(f"a{number}"))
                nursery.start_soon(journal.create_agent, edge(f"b{number}"))
                nursery.start_soon(journal.create_agents, [edge(f"{c}{number}") for c in "cd"])
                for _ in range(number % 4):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()

            assert journal.state == read_journal(path_in(tmp_path))


async def test_a_disk_that_refuses_is_an_error_and_nothing_has_happened(tmp_path: Path) -> None:
    blocked = tmp_path / "home"
    blocked.write_text("not a folder")
    with pytest.raises(JournalUnreadable):
        async with open_journal(str(blocked), LEAD):
            pass
    blocked.unlink()
    async with open_journal(str(blocked), LEAD) as journal:
        blocked.write_text("not a folder")
        with pytest.raises(JournalRefused, match="Not a directory"):
            await journal.assign(task("1"))
        refused = journal.state
        with pytest.raises(UnknownTask, match="assign it first"):
            await journal.settle(TaskId("1"), TaskCompleted(None))
        blocked.unlink()
        await journal.assign(task("1"))

        assert JournalState() == refused
        assert JournalState(tasks={TaskId("1"): task("1")}) == journal.state
    assert journal.state == read_journal(path_in(blocked))


@pytest.fixture
def small_files() -> Any:
    """No file may grow beyond a limit that the test sets; Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(
        resource.RLIMIT_FSIZE, (soft if size is None else size, hard)
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_half_an_entry_is_none(tmp_path: Path, small_files: Callable[[int], None]) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("1"))
        size = os.stat(path_in(tmp_path)).st_size
        small_files(size + 200)
        with pytest.raises(JournalRefused, match="File too large"):
            await journal.create_agents([edge("a"), edge("b")])
        small_files(size + 20)
        with pytest.raises(JournalRefused, match="File too large"):
            await journal.settle(TaskId("1"), TaskFailed("no"))
        after = os.stat(path_in(tmp_path)).st_size
        small_files(resource.RLIM_INFINITY)
        record = await journal.settle(TaskId("1"), TaskCompleted("yes"))

    assert size == after
    assert JournalState(tasks={TaskId("1"): record}) == read_journal(path_in(tmp_path))


async def test_what_is_late_is_written_before_what_comes_next(
    tmp_path: Path, small_files: Callable[[int | None], None]
) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.create_agent(edge("a"))
        await journal.assign(task("1"))
        size = os.stat(path_in(tmp_path)).st_size
        small_files(size)
        told = journal.settle_late(TaskId("1"), TaskCompleted("done"))
        journal.close_late([ThreadId("a"), ThreadId("?")], "closed")
        await journal.catch_up()
        with pytest.raises(JournalRefused):
            await journal.create_agent(edge("b"))
        refused = (os.stat(path_in(tmp_path)).st_size, journal.task(TaskId("1")))
        small_files(None)
        await journal.create_agent(edge("b"))
        lines = Path(path_in(tmp_path)).read_text("utf-8").splitlines()[2:]
        state = journal.state

    assert (size, task("1")) == refused
    kinds = [json.loads(line)["type"] for line in lines]
    assert ["task_settled", "agent_closed", "agent_created"] == kinds
    assert told == state.tasks[TaskId("1")]
    assert [ThreadId("a")] == list(state.closed)
    assert state == read_journal(path_in(tmp_path))


@pytest.mark.parametrize("on_disk", [True, False])
async def test_what_is_late_is_written_at_the_end(tmp_path: Path, on_disk: bool) -> None:
    async with open_journal(str(tmp_path) if on_disk else None, LEAD) as journal:
        await journal.assign(task("1"))
        told = journal.settle_late(TaskId("1"), TaskCompleted("done"))
    with pytest.raises(trio.ClosedResourceError):
        journal.settle_late(TaskId("1"), TaskCompleted("again"))

    assert told == journal.task(TaskId("1"))
    assert not on_disk or journal.state == read_journal(path_in(tmp_path))


async def test_a_task_is_assigned_once(tmp_path: Path) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("1"))
        with pytest.raises(DuplicateTask, match="'1'"):
            await journal.assign(task("1"))


async def test_a_journal_in_memory(tmp_path: Path) -> None:
    async with open_journal(None, LEAD, now=lambda: NOON) as journal:
        await journal.assign(task("1"))
        record = await journal.settle(TaskId("1"), TaskCompleted(None))

    assert {TaskId("1"): record} == journal.state.tasks
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(trio.ClosedResourceError):
        await journal.assign(task("2"))


async def test_reading_back_passes_over_what_cannot_be_read(tmp_path: Path) -> None:
    path = Path(path_in(tmp_path))
    path.parent.mkdir()
    lines = [
        encode_entry(TaskAssigned(task("1")), STAMP),
        b"{broken\n",
        b'{"timestamp":"x","type":"zz","payload":{}}\n',
        b'{"timestamp":"x","type":"agent_created","payload":{"path":"?"}}\n',
        b"\n",
        encode_entry(TaskSettled(TaskId("2"), TaskCompleted(None), STAMP), STAMP),
        b"\0" * 10_000_000 + b"\n",
        b"\xff\xfe\n",
        b'"' + b"x" * 10_000_000 + b'"\n',
        encode_entry(AgentCreated(edge("a")), STAMP).replace(b'"/root/a"', b"3"),
        encode_entry(AgentCreated(edge("a")), STAMP)[:-10],
    ]
    path.write_bytes(b"".join(lines))
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("3"))
    state = read_journal(str(path))

    assert {TaskId("1"): task("1"), TaskId("3"): task("3")} == state.tasks
    bad = [2, 4, 7, 8, 9, 10, 11]
    assert [f"line {number}" for number in bad] == [p.split(":")[0] for p in state.problems]
    assert max(map(len, state.problems)) < 400
    assert state == journal.state


def _told(name: str, receiver: str) -> TaskRecord:
    return attrs.evolve(task(name), reply_to=ThreadId(receiver))


def single_entries() -> st.SearchStrategy[Entry]:
    ids = st.sampled_from("abc")
    letters = st.builds(letter, ids, ids)
    taken = st.lists(ids.map(LetterId), max_size=3).map(tuple)
    return st.one_of(
        ids.map(edge).map(AgentCreated),
        st.builds(AgentClosed, ids.map(ThreadId), st.sampled_from([None, "closed", "crashed"])),
        ids.map(task).map(TaskAssigned),
        st.builds(_told, ids, ids).map(TaskAssigned),
        st.builds(TaskSettled, ids.map(TaskId), some.outcomes(), st.just(STAMP)),
        letters.map(LetterPosted),
        st.builds(LettersDelivered, taken, ids.map(ThreadId), some.optional(ids)),
    )


def entries() -> st.SearchStrategy[Entry]:
    several = st.lists(single_entries(), max_size=4).map(tuple)
    return single_entries() | several.map(Together)


def spelled(entries: list[Entry]) -> bytes:
    return b"".join([encode_entry(entry, STAMP) for entry in entries])


def in_order(state: JournalState) -> list[Any]:
    """All that a state says; dicts are equal in any order."""
    groups = (state.agents, state.closed, state.reasons, state.tasks, state.letters, state.news)
    return [list(group.items()) for group in groups]


@given(st.lists(entries(), max_size=12), st.lists(entries(), max_size=12))
def test_what_is_read_back_is_what_was_said(before: list[Entry], after: list[Entry]) -> None:
    """A journal that is opened again goes on from what it read."""
    state = read_entries(io.BytesIO(spelled(before)))
    tally = Tally.of(state)
    for entry in after:
        tally.add(entry)

    assert in_order(add_up(before)) == in_order(state)
    assert in_order(add_up(before + after)) == in_order(tally.state())
    assert tally.unsettled() == tally.state().unsettled
    for receiver in map(ThreadId, "abc"):
        waiting = tally.letters_of(receiver)
        everybody = tally.letters.values()
        assert waiting == tuple(each for each in everybody if each.receiver == receiver)
        news = tally.news.values()
        assert tally.news_of(receiver) == tuple(each for each in news if each.reply_to == receiver)


@given(st.lists(entries(), max_size=12))
def test_letters_wait_for_nobody_who_is_closed(entries: list[Entry]) -> None:
    state = add_up(entries)

    assert not {each.receiver for each in state.letters.values()} & state.closed.keys()
    assert not {each.reply_to for each in state.news.values()} & state.closed.keys()
    assert not state.agents.keys() & state.closed.keys()


def whole_lines() -> st.SearchStrategy[bytes]:
    return entries().map(lambda entry: encode_entry(entry, STAMP))


@given(st.lists(st.binary(max_size=60) | whole_lines()))
def test_any_bytes_are_read(lines: list[bytes]) -> None:
    read_entries(io.BytesIO(b"\n".join(lines)))


@given(single_entries(), st.data())
def test_whatever_stands_in_an_entry_it_is_read_or_refused(entry: Entry, data: Any) -> None:
    fields = json.loads(encode_entry(entry, STAMP))
    here, name = fields, "payload"
    while isinstance(here[name], dict) and here[name] and data.draw(st.booleans()):
        here, name = here[name], data.draw(st.sampled_from(sorted(here[name])))
    here[name] = data.draw(some.json_values())

    state = read_entries([json.dumps(fields).encode()])
    assert in_order(add_up([])) == in_order(state) or not state.problems
    for edge in state.agents.values():
        assert edge == AgentCreated(edge).edge
    hash(tuple(state.tasks.values()))
    hash(tuple(state.letters.values()))


@pytest.mark.parametrize("depth", range(900, 1000, 3))
def test_what_is_nested_too_deeply_is_read_or_refused(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    known: list[tuple[Entry, bytes]] = [
        (AgentCreated(edge("a")), b'{"model":"m"}'),
        (TaskAssigned(task("a")), b'"do it"'),
    ]
    for entry, place in known:
        line = encode_entry(entry, STAMP)
        assert place in line

        assert 1 == len(read_entries([line.replace(place, deep)]).problems)


@given(single_entries())
def test_entries_come_back(entry: Entry) -> None:
    assert entry == decode_entry(encode_entry(entry, STAMP))


@given(st.lists(single_entries(), max_size=12))
def test_of_two_outcomes_the_first_counts_whatever_comes_between(entries: list[Entry]) -> None:
    seen = add_up(entries).tasks

    for name, record in seen.items():
        assigned = [isinstance(e, TaskAssigned) and e.record.id == name for e in entries]
        start = assigned.index(True)
        outcomes = [
            entry.outcome
            for entry in entries[start:]
            if isinstance(entry, TaskSettled) and entry.task_id == name
        ]
        assert (outcomes[0] if outcomes else None) == record.outcome


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{}",
        b'{"type":"agent_closed","payload":{}}',
        b'{"type":"agent_closed","payload":3}',
        b'{"type":"agent_closed","payload":{"thread_id":3}}',
        b'{"type":"agent_closed","payload":{"thread_id":"a","reason":[]}}',
        b'{"type":3,"payload":{}}',
        b'{"type":"letter_posted","payload":{"id":"1"}}',
        b'{"type":"letters_delivered","payload":{"letter_ids":"1","thread_id":"a"}}',
        b'{"type":"letters_delivered","payload":{"letter_ids":[1],"thread_id":"a"}}',
        b'{"type":"task_assigned","payload":{"id":1}}',
        b'{"type":"task_settled","payload":{"outcome":{"type":"zz"}}}',
    ],
)
def test_what_is_no_entry_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode_entry(data)


async def test_errors_are_of_one_branch() -> None:
    async with open_journal(None, LEAD) as journal:
        assert isinstance(journal, Journal)
        with pytest.raises(JournalError):
            await journal.settle(TaskId("?"), TaskCompleted(None))
