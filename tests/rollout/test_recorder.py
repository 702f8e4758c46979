from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from codex_actors.protocol import (
    EventLine,
    Recorded,
    RolloutLine,
    SessionMeta,
    ThreadId,
    UnknownEvent,
    UnknownLine,
    user_message,
)
from codex_actors.rollout import (
    EmptyRollout,
    FlushReport,
    RecorderStatistics,
    ThreadNotRecorded,
    open_recorder,
    read_rollout,
)
from codex_actors.rollout._clerk import Clerk
from codex_actors.rollout._file_recorder import FileRecorder

ONE = ThreadId("01a1fe6b-207a-7340-a6cf-abef11635601")
TWO = ThreadId("01a1fe6b-207a-7340-a6cf-abef11635602")
NOON = 1767355445.678


def meta(thread_id: ThreadId) -> SessionMeta:
    return SessionMeta(
        id=thread_id,
        session_id=ONE,
        timestamp="2026-01-02T12:04:05.678Z",
        cwd="/w",
        originator="test",
        cli_version="0",
    )


def said(text: str) -> Recorded:
    return Recorded(user_message(text))


def stamped(*payloads: SessionMeta | Recorded | EventLine | UnknownLine) -> tuple[RolloutLine, ...]:
    return tuple(RolloutLine("2026-01-02T12:04:05.678Z", payload) for payload in payloads)


def recorder_in(
    home: Path, *, max_open_files: int = 64, now: Callable[[], float] = lambda: NOON
) -> FileRecorder:
    """Make a recorder that is closed after the test."""
    clerk = Clerk()
    recorder = FileRecorder(str(home), clerk, now=now, max_open_files=max_open_files)
    MADE.extend([clerk.aclose, recorder.aclose])
    return recorder


MADE: list[Callable[[], Awaitable[None]]] = []


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while MADE:
        trio.run(MADE.pop())


def path_of(recorder: FileRecorder, thread_id: ThreadId) -> str:
    path = recorder.path(thread_id)
    assert path is not None
    return path


async def test_a_file_is_made_by_the_first_flush_and_is_private(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path / "home")
    recorder.append(ONE, meta(ONE))
    path = path_of(recorder, ONE)
    before = os.path.exists(path)
    report = await recorder.flush()

    assert (False, FlushReport()) == (before, report)
    assert stamped(meta(ONE)) == read_rollout(path).lines
    assert 0o600 == stat.S_IMODE(os.stat(path).st_mode)
    assert 0o700 == stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)


async def test_the_path_has_the_local_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = recorder_in(tmp_path)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC+13")
        time.tzset()
        recorder.append(ONE, meta(ONE))
    time.tzset()

    expected = f"sessions/2026/01/01/rollout-2026-01-01T23-04-05-{ONE}.jsonl"
    assert str(tmp_path / expected) == recorder.path(ONE)


async def test_flushes_of_many_share_few_writes(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path)
    threads = [ThreadId(f"{ONE[:-3]}{number:03d}") for number in range(50)]

    async def live(thread_id: ThreadId) -> None:
        recorder.append(thread_id, meta(thread_id))
        recorder.append(thread_id, said("hi"))
        assert FlushReport() == await recorder.flush()
        assert (
            stamped(meta(thread_id), said("hi")) == read_rollout(path_of(recorder, thread_id)).lines
        )

    async with trio.open_nursery() as nursery:
        for thread_id in threads:
            nursery.start_soon(live, thread_id)

    expected = RecorderStatistics(threads=50, open_files=50, batches=2, waiting=0)
    assert expected == recorder.statistics()


async def test_no_more_files_are_open_than_allowed(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path, max_open_files=3)
    threads = [ThreadId(f"{ONE[:-3]}{number:03d}") for number in range(10)]
    for text in ("a", "b"):
        for thread_id in threads:
            if text == "a":
                recorder.append(thread_id, meta(thread_id))
            recorder.append(thread_id, said(text))
        await recorder.flush(sync=True)

        assert 3 >= recorder.statistics().open_files
    for thread_id in threads:
        lines = read_rollout(path_of(recorder, thread_id)).lines

        assert stamped(meta(thread_id), said("a"), said("b")) == lines


async def test_a_line_that_a_dead_writer_left_open_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / f"rollout-2026-01-02T12-04-05-{ONE}.jsonl"
    path.write_bytes(b'{"timestamp":"2026-01-02T12:04:05.678Z","type":"zz","payload":1}\n{"half')
    recorder = recorder_in(tmp_path)
    recorder.adopt(ONE, str(path))
    recorder.append(ONE, said("on"))
    await recorder.flush()

    rollout = read_rollout(str(path))
    assert stamped(UnknownLine("zz", 1), said("on")) == rollout.lines
    assert [2] == [problem.number for problem in rollout.problems]


async def test_numbered_lines_stay_numbered(tmp_path: Path) -> None:
    path = tmp_path / f"rollout-2026-01-02T12-04-05-{ONE}.jsonl"
    recorder = recorder_in(tmp_path)
    recorder.adopt(ONE, str(path), next_ordinal=7)
    recorder.append(ONE, said("a"))
    recorder.append(ONE, said("b"))
    await recorder.flush()

    rollout = read_rollout(str(path))
    assert ([7, 8], 9) == ([line.ordinal for line in rollout.lines], rollout.next_ordinal)


async def test_what_refuses_is_kept_and_written_later_once_and_in_order(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("not a folder")
    now = [NOON]
    recorder = recorder_in(home, now=lambda: now[0])
    recorder.append(ONE, meta(ONE))
    first = await recorder.flush()
    now[0] += 60
    recorder.append(ONE, said("a"))
    second = await recorder.flush(sync=True)
    home.unlink()
    third = await recorder.flush(sync=True)

    assert (NOON, 1) == (first.since, first.waiting)
    assert (NOON, 2) == (second.since, second.waiting)
    assert "Not a directory" in (first.problem or "")
    assert FlushReport() == third
    assert [meta(ONE), said("a")] == [
        line.payload for line in read_rollout(path_of(recorder, ONE)).lines
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)]
    try:
        done = subprocess.run(["mount", *options], check=False, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"a disk cannot be mounted here: {done.stderr.decode().strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", str(mount)], check=True)


async def test_a_full_disk_tears_no_line(small_disk: Path) -> None:
    recorder = recorder_in(small_disk)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 40_000)
    texts = [letter * 9_000 for letter in "abcde"]
    recorder.append(ONE, meta(ONE))
    reports = []
    for text in texts:
        recorder.append(ONE, said(text))
        reports.append(await recorder.flush())
    ballast.unlink()
    last = await recorder.flush(sync=True)
    await recorder.aclose()

    assert "No space left on device" in (reports[-1].problem or "")
    assert 0 < reports[-1].waiting < 6
    assert (FlushReport(), FlushReport()) == (last, recorder.report)
    rollout = read_rollout(path_of(recorder, ONE))
    assert (stamped(meta(ONE), *map(said, texts)), ()) == (rollout.lines, rollout.problems)


async def test_what_the_disk_does_not_hold_is_in_the_next_report(tmp_path: Path) -> None:
    """A pipe takes what is written, and there is no disk that could hold it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    recorder = recorder_in(tmp_path)
    recorder.adopt(ONE, str(pipe))
    recorder.append(ONE, said("a"))
    first = await recorder.flush(sync=True)
    recorder.append(TWO, meta(TWO))
    second = await recorder.flush()

    assert FlushReport() == first
    assert "Invalid argument" in (second.problem or "")
    assert 0 == second.waiting


@attrs.frozen
class Witness:
    """Sees, after the recorder has written a batch, whether the disk itself holds it already."""

    recorder: FileRecorder
    held: list[bool] = attrs.field(factory=list)

    def job(self) -> Witness:
        return self

    def work(self) -> None:
        self.held.append(not self.recorder._files.unsynced)

    def done(self) -> None:
        """Nothing."""


async def test_the_disk_is_asked_when_nobody_waits_any_more_and_at_the_end(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path)
    witness = Witness(recorder)
    recorder._clerk.employ(witness.job)
    recorder.append(ONE, meta(ONE))
    await recorder.flush()
    recorder.append(ONE, said("a"))
    await recorder.flush(sync=True)
    assert [False, False] == witness.held
    await recorder._clerk.commit()
    assert [False, False, True] == witness.held
    recorder.append(ONE, said("b"))
    await recorder.flush()
    await recorder.aclose()

    assert [False, False, True, False, True] == witness.held


async def test_one_files_trouble_is_not_anothers(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    recorder.adopt(ONE, str(blocked / "x.jsonl"))
    recorder.append(ONE, said("a"))
    recorder.append(TWO, meta(TWO))
    report = await recorder.flush()

    assert 1 == report.waiting
    assert stamped(meta(TWO)) == read_rollout(path_of(recorder, TWO)).lines


async def test_cancelled_flushes_lose_and_double_nothing(tmp_path: Path, schedule: int) -> None:
    """Each of many flushes is cancelled at another moment; one that is not ends them all."""
    recorder = recorder_in(tmp_path)
    recorder.append(ONE, meta(ONE))

    async def flush(checkpoints: int, scope: trio.CancelScope) -> None:
        with scope:
            await recorder.flush(sync=checkpoints % 3 == 0)

    for number in range(40):
        recorder.append(ONE, said(f"{number}"))
        scope = trio.CancelScope()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flush, number, scope)
            nursery.start_soon(flush, number + 1, trio.CancelScope())
            for _ in range(number % 5):
                await trio.lowlevel.checkpoint()
            scope.cancel()
    await recorder.flush()

    expected = [meta(ONE), *(said(f"{number}") for number in range(40))]
    assert expected == [line.payload for line in read_rollout(path_of(recorder, ONE)).lines]


async def test_a_flush_that_is_cancelled_before_it_writes_leaves_it_to_the_next(
    tmp_path: Path,
) -> None:
    recorder = recorder_in(tmp_path)
    recorder.append(ONE, meta(ONE))
    with trio.CancelScope() as scope:
        scope.cancel()
        await recorder.flush(sync=True)
    path = path_of(recorder, ONE)

    assert scope.cancelled_caught
    assert not os.path.exists(path)
    assert FlushReport() == await recorder.flush()
    assert stamped(meta(ONE)) == read_rollout(path).lines


async def test_leaving_writes_what_is_left_even_when_cancelled(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with open_recorder(str(tmp_path), now=lambda: NOON) as recorder:
            recorder.append(ONE, meta(ONE))
            scope.cancel()
            await trio.sleep_forever()

    path = recorder.path(ONE)
    assert path is not None
    assert stamped(meta(ONE)) == read_rollout(path).lines
    with pytest.raises(trio.ClosedResourceError):
        recorder.append(ONE, said("late"))
    with pytest.raises(trio.ClosedResourceError):
        await recorder.flush()


async def test_leaving_does_not_wait_for_a_disk_that_hangs(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A pipe that nobody reads blocks whoever writes more than fits."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with open_recorder(str(tmp_path), now=lambda: NOON) as recorder:
        recorder.adopt(ONE, str(fifo))
        recorder.append(ONE, said("x" * 1_000_000))
    descriptor = os.open(fifo, os.O_RDONLY)
    while os.read(descriptor, 65536):
        pass
    os.close(descriptor)

    expected = FlushReport(
        problem="the disk does not take the record of this session: it did not answer in time;"
        " 1 lines wait for it",
        since=NOON,
        waiting=1,
    )
    assert expected == recorder.report


async def test_the_bodys_exception_comes_out_bare(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        async with open_recorder(str(tmp_path)) as recorder:
            recorder.append(ONE, meta(ONE))
            raise KeyError


async def test_reading_gives_what_waits_as_well(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    recorder = recorder_in(home)
    recorder.append(ONE, meta(ONE))
    waiting = await recorder.read(ONE)
    home.unlink()
    recorder.append(ONE, said("a"))
    written = await recorder.read(ONE)

    assert stamped(meta(ONE)) == waiting.lines
    assert stamped(meta(ONE), said("a")) == written.lines


async def test_threads_must_be_known(tmp_path: Path) -> None:
    async with open_recorder(str(tmp_path)) as recorder:
        with pytest.raises(ThreadNotRecorded, match=ONE):
            recorder.append(ONE, said("a"))
        with pytest.raises(ThreadNotRecorded, match=ONE):
            await recorder.read(ONE)
        recorder.adopt(ONE, str(tmp_path / "nothing.jsonl"))
        with pytest.raises(EmptyRollout):
            await recorder.read(ONE)


async def test_a_recorder_without_a_home_keeps_lines_in_memory(tmp_path: Path) -> None:
    async with open_recorder(None, now=lambda: NOON) as recorder:
        with pytest.raises(ThreadNotRecorded):
            recorder.append(ONE, said("a"))
        with pytest.raises(ThreadNotRecorded):
            await recorder.read(ONE)
        recorder.append(ONE, meta(ONE))
        recorder.append(ONE, EventLine(UnknownEvent("zz", {})))
        recorder.adopt(TWO, "/nowhere")
        recorder.append(TWO, said("b"))

        assert FlushReport() == await recorder.flush(sync=True)
        lines = (await recorder.read(ONE)).lines
        assert stamped(meta(ONE), EventLine(UnknownEvent("zz", {}))) == lines
        assert stamped(said("b")) == (await recorder.read(TWO)).lines
        assert recorder.path(ONE) is None
