from __future__ import annotations

import os
import resource
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
    open_journal,
    read_journal,
)
from codex_actors.rollout._entries import (
    AgentClosed,
    AgentCreated,
    Entry,
    TaskAssigned,
    TaskSettled,
    add_up,
    decode_entry,
    encode_entry,
)
from codex_actors.rollout._journal import Journal
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
        tasks={
            TaskId("1"): attrs.evolve(task("1"), outcome=done, settled_at=STAMP),
            TaskId("2"): task("2"),
        },
    )
    assert (expected, expected, expected) == (state, resumed, read_journal(path_in(tmp_path)))
    assert settled == expected.tasks[TaskId("1")]
    assert (task("2"),) == expected.unsettled
    assert 0o600 == os.stat(path_in(tmp_path)).st_mode & 0o777


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
    assert 2 == Path(path_in(tmp_path)).read_bytes().count(b"\n")


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
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_half_an_entry_is_none(tmp_path: Path, small_files: Callable[[int], None]) -> None:
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("1"))
        size = os.stat(path_in(tmp_path)).st_size
        small_files(size + 20)
        with pytest.raises(JournalRefused, match="File too large"):
            await journal.settle(TaskId("1"), TaskFailed("no"))
        after = os.stat(path_in(tmp_path)).st_size
        small_files(resource.RLIM_INFINITY)
        record = await journal.settle(TaskId("1"), TaskCompleted("yes"))

    assert size == after
    assert JournalState(tasks={TaskId("1"): record}) == read_journal(path_in(tmp_path))


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
        encode_entry(AgentCreated(edge("a")), STAMP)[:-10],
    ]
    path.write_bytes(b"".join(lines))
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.assign(task("3"))
    state = read_journal(str(path))

    assert {TaskId("1"): task("1"), TaskId("3"): task("3")} == state.tasks
    assert ["line 2", "line 4", "line 7"] == [text.split(":")[0] for text in state.problems]


def entries() -> st.SearchStrategy[Entry]:
    ids = st.sampled_from("abc")
    return st.one_of(
        ids.map(edge).map(AgentCreated),
        ids.map(ThreadId).map(AgentClosed),
        ids.map(task).map(TaskAssigned),
        st.builds(TaskSettled, ids.map(TaskId), some.outcomes(), st.just(STAMP)),
    )


@given(entries())
def test_entries_come_back(entry: Entry) -> None:
    assert entry == decode_entry(encode_entry(entry, STAMP))


@given(st.lists(entries(), max_size=12))
def test_of_two_outcomes_the_first_counts_whatever_comes_between(entries: list[Entry]) -> None:
    seen = add_up(entries).tasks

    for name, record in seen.items():
        start = entries.index(TaskAssigned(task(name)))
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
