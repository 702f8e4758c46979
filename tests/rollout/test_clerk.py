from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from codex_actors.protocol import (
    ROOT,
    SessionMeta,
    TaskCompleted,
    TaskFailed,
    TaskId,
    TaskInterrupted,
    TaskOutcome,
    TaskRecord,
    ThreadId,
    TurnCompleted,
)
from codex_actors.protocol import EventLine as Line
from codex_actors.rollout import (
    Clerk,
    FlushReport,
    Journal,
    JournalRefused,
    Recorder,
    journal_path,
    open_clerk,
    open_journal,
    open_recorder,
    read_journal,
    read_rollout,
)
from codex_actors.rollout._clerk import Rest

LEAD = ThreadId("01a1fe6b-207a-7340-a6cf-abef11635601")
STAMP = "2026-01-02T12:04:05.678Z"
ONE = TaskId("1")
DONE = TaskCompleted("well")
META = SessionMeta(
    id=LEAD, session_id=LEAD, timestamp=STAMP, cwd="/w", originator="test", cli_version="0"
)
ENDED = Line(TurnCompleted(turn_id="1", last_agent_message="well"))


def task(task_id: TaskId = ONE) -> TaskRecord:
    return TaskRecord(id=task_id, thread_id=LEAD, path=ROOT, text="do it", assigned_at=STAMP)


@attrs.define
class Writer:
    """Writes down what happens to its jobs."""

    name: str
    log: list[str]
    waiting: bool = False
    fails: bool = False
    gate: threading.Event = attrs.field(factory=threading.Event)

    def job(self) -> Writer | None:
        if not self.waiting:
            return None
        self.waiting = False
        return self

    def work(self) -> None:
        self.gate.wait(5)
        self.log.append(f"{self.name} works")
        if self.fails:
            raise KeyError(self.name)

    def done(self) -> None:
        self.log.append(f"{self.name} is done")


def two_writers(clerk: Clerk) -> tuple[Writer, Writer, list[str]]:
    log: list[str] = []
    writers = Writer("a", log), Writer("b", log)
    for writer in writers:
        clerk.employ(writer.job)
    return *writers, log


async def test_a_batch_has_everybodys_jobs_in_their_order(schedule: int) -> None:
    async with open_clerk() as clerk:
        a, b, log = two_writers(clerk)
        a.gate.set()
        b.gate.set()
        await clerk.commit()
        a.waiting = b.waiting = True
        await clerk.commit()
        log.append("|")
        b.waiting = True
        await clerk.commit()

    assert "a works, b works, a is done, b is done, |, b works, b is done" == ", ".join(log)


async def test_nobody_waits_for_what_a_job_leaves_for_later_but_the_next_batch() -> None:
    resting, log = threading.Event(), list[str]()

    @attrs.frozen
    class Lazy:
        def work(self) -> Rest:
            log.append("works")
            return self.rest

        def rest(self) -> None:
            resting.wait(5)
            log.append("rests")

        def done(self) -> None:
            log.append("is done")

    jobs = [Lazy()]
    async with open_clerk() as clerk:
        clerk.employ(lambda: jobs.pop() if jobs else None)
        await clerk.commit()
        log.append("told")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clerk.run, lambda: log.append("errand"))
            await trio.testing.wait_all_tasks_blocked()
            log.append("waits")
            resting.set()

    assert ["works", "is done", "told", "waits", "rests", "errand"] == log


async def test_a_batch_that_has_begun_ends_whoever_is_cancelled() -> None:
    async with open_clerk() as clerk, trio.open_nursery() as nursery:
        a, _, log = two_writers(clerk)
        a.waiting = True
        nursery.start_soon(clerk.commit)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked()
            log.append("cancelled")
            a.gate.set()
            await clerk.wait_current()

    assert ["cancelled", "a works", "a is done"] == log


async def test_who_is_cancelled_before_the_batch_begins_has_given_nothing_out() -> None:
    async with open_clerk() as clerk:
        a, _, log = two_writers(clerk)
        a.waiting = True
        with trio.CancelScope() as scope:
            scope.cancel()
            await clerk.commit()

    assert scope.cancelled_caught
    assert (True, []) == (a.waiting, log)


async def test_in_a_hurry_a_batch_is_left_to_itself(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_clerk() as clerk:
        a, _, log = two_writers(clerk)
        a.waiting = True
        clerk.hurry()
        with trio.move_on_after(1) as scope:
            await clerk.commit()
        began = trio.current_time()
    waited = trio.current_time() - began
    a.gate.set()

    assert scope.cancelled_caught
    assert waited == 0  # for a thread that hangs
    assert "a is done" not in log


async def test_what_was_left_to_itself_is_not_taken_for_what_came_after() -> None:
    async with open_clerk() as clerk:
        a, b, log = two_writers(clerk)
        a.waiting = True
        clerk.hurry()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clerk.commit)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        b.waiting = True
        a.gate.set()
        b.gate.set()
        await clerk.commit()

    assert ["a works", "b works", "b is done"] == log


async def test_a_crash_in_the_thread_comes_out_where_it_was_asked_for() -> None:
    async with open_clerk() as clerk:
        a, b, log = two_writers(clerk)
        a.gate.set()
        b.gate.set()
        a.waiting = a.fails = b.waiting = True
        with pytest.raises(KeyError):
            await clerk.commit()

        assert ["a works", "b works", "b is done"] == log
        assert 3 == await clerk.run(lambda: 3)
        with pytest.raises(ZeroDivisionError):
            await clerk.run(lambda: 1 // 0)


async def test_what_else_there_is_to_do_is_done_between_batches() -> None:
    async with open_clerk() as clerk, trio.open_nursery() as nursery:
        a, _, log = two_writers(clerk)
        a.waiting = True
        nursery.start_soon(clerk.commit)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(clerk.run, lambda: log.append("read"))
        with trio.CancelScope() as scope:
            scope.cancel()
            await clerk.run(lambda: log.append("never"))
        a.gate.set()

    assert scope.cancelled_caught
    assert ["a works", "a is done", "read"] == log


async def test_the_thread_ends_with_the_clerk() -> None:
    def clerks() -> int:
        return sum(thread.name == "clerk" for thread in threading.enumerate())

    before = clerks()
    async with open_clerk() as clerk:
        idle = clerks()
        await clerk.run(lambda: None)
        busy = clerks()
    with trio.fail_after(5):
        while clerks() > before:
            await trio.sleep(0.01)

    assert (before, before + 1) == (idle, busy)


# --- a turn's end, of which the lines and the outcome are written together ---


@attrs.frozen
class Tree:
    home: str
    clerk: Clerk
    recorder: Recorder
    journal: Journal

    @property
    def outcome(self) -> TaskOutcome | None:
        """As the file has it."""
        return read_journal(journal_path(self.home, LEAD)).tasks[ONE].outcome


async def with_tree(home: Path, use: Callable[[Tree], Awaitable[None]]) -> None:
    """Let the test use a tree with one task."""
    async with (
        open_clerk() as clerk,
        open_recorder(str(home), clerk=clerk) as recorder,
        open_journal(str(home), LEAD, clerk=clerk) as journal,
    ):
        await journal.assign(task())
        recorder.append(LEAD, META)
        await recorder.flush()
        await use(Tree(str(home), clerk, recorder, journal))


async def test_an_outcome_is_written_with_the_lines_before_it(tmp_path: Path) -> None:
    async def use(tree: Tree) -> None:
        batches = tree.clerk.batches
        tree.recorder.append(LEAD, ENDED)
        tree.journal.settle_soon(ONE, DONE)
        tree.journal.settle_soon(ONE, TaskFailed("too late"))
        report = await tree.recorder.flush(sync=True)
        written = tree.outcome
        tree.journal.settle_soon(ONE, TaskFailed("much too late"))
        record = await tree.journal.settle(ONE, TaskFailed("too late, too"))
        path = tree.recorder.path(LEAD)
        assert path is not None

        assert FlushReport() == report
        assert (DONE, DONE) == (written, record.outcome)
        assert tree.clerk.batches == batches + 1
        assert (META, ENDED) == tuple(line.payload for line in read_rollout(path).lines)

    await with_tree(tmp_path, use)


async def test_an_outcome_that_nobody_flushed_is_written_by_settle(tmp_path: Path) -> None:
    async def use(tree: Tree) -> None:
        tree.journal.settle_soon(ONE, DONE)
        before = tree.outcome
        record = await tree.journal.settle(ONE, TaskInterrupted("shutdown"))

        assert (None, DONE, DONE) == (before, record.outcome, tree.outcome)

    await with_tree(tmp_path, use)


async def test_what_the_disk_refused_to_settle_soon_is_tried_again(tmp_path: Path) -> None:
    async def use(tree: Tree) -> None:
        path = Path(journal_path(tree.home, LEAD))
        ledger = tree.journal._tray._writing
        assert ledger is not None
        ledger[0].close()  # it is opened anew by the next entry
        kept = path.read_bytes()
        path.unlink()
        path.mkdir()
        tree.journal.settle_soon(ONE, DONE)
        tree.recorder.append(LEAD, ENDED)
        report = await tree.recorder.flush()
        with pytest.raises(JournalRefused):
            await tree.journal.settle(ONE, DONE)
        unsettled = tree.journal.state.unsettled
        path.rmdir()
        path.write_bytes(kept)
        record = await tree.journal.settle(ONE, DONE)

        assert FlushReport() == report
        assert (task(),) == unsettled
        assert (DONE, DONE) == (record.outcome, tree.outcome)

    await with_tree(tmp_path, use)


async def test_of_outcomes_that_meet_the_first_counts(tmp_path: Path, schedule: int) -> None:
    async def use(tree: Tree) -> None:
        told: list[TaskRecord] = []

        async def settle(outcome: TaskOutcome) -> None:
            told.append(await tree.journal.settle(ONE, outcome))

        tree.journal.settle_soon(ONE, DONE)
        tree.recorder.append(LEAD, ENDED)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tree.recorder.flush)
            nursery.start_soon(settle, TaskInterrupted("a"))
            nursery.start_soon(settle, TaskInterrupted("b"))

        assert [DONE, DONE] == [record.outcome for record in told]
        assert DONE == tree.outcome

    await with_tree(tmp_path, use)


async def test_settling_soon_in_memory_is_settling(tmp_path: Path) -> None:
    async with open_journal(None, LEAD) as journal:
        journal.settle_soon(TaskId("?"), DONE)
        await journal.assign(task())
        journal.settle_soon(ONE, DONE)

        assert (task(),) == journal.state.unsettled
        assert DONE == (await journal.settle(ONE, DONE)).outcome
