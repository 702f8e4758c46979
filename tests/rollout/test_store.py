from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from codex_actors.protocol import (
    Recorded,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    ThreadId,
    UnknownLine,
    user_message,
)
from codex_actors.rollout import (
    EmptyRollout,
    LineProblem,
    Rollout,
    RolloutError,
    RolloutStore,
    RolloutSummary,
    ThreadNotFound,
    UnreadableRollout,
    find_latest,
    find_rollout,
    find_rollouts,
    iter_rollout,
    list_rollouts,
    read_rollout,
)
from codex_actors.wire import encode_line

STAMP = "2026-01-02T12:04:05.678Z"
IDS = [ThreadId(f"01a1fe6b-207a-7340-a6cf-abef1163560{number}") for number in range(5)]


def line(payload: RolloutPayload) -> RolloutLine:
    return RolloutLine(STAMP, payload)


def meta(thread_id: str, **fields: Any) -> SessionMeta:
    plain = SessionMeta(
        id=thread_id,
        session_id=thread_id,
        timestamp=STAMP,
        cwd="/w",
        originator="test",
        cli_version="0",
    )
    return attrs.evolve(plain, **fields)


def write(home: Path, time: str, thread_id: str, *data: bytes, folder: str = "sessions") -> str:
    day = time[:10].split("-")
    path = home.joinpath(folder, *day, f"rollout-{time}-{thread_id}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(data))
    return str(path)


def begun(home: Path, time: str, thread_id: str, **fields: Any) -> str:
    return write(home, time, thread_id, encode_line(line(meta(thread_id, **fields))))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    begun(tmp_path, "2025-12-31T23-59-59", IDS[0])
    begun(tmp_path, "2026-01-02T12-00-00", IDS[1], cwd="/other", source={"custom": "web"})
    begun(tmp_path, "2026-01-02T11-00-00", IDS[2])
    begun(tmp_path, "2026-01-03T00-00-00", IDS[3], parent_thread_id=IDS[2])
    write(tmp_path, "2026-01-04T00-00-00", IDS[4], b"{broken\n")
    (tmp_path / "sessions" / "notes.txt").write_text("x")
    return tmp_path


async def test_newest_first(home: Path) -> None:
    store = RolloutStore(str(home))

    assert [IDS[3], IDS[1], IDS[2], IDS[0]] == [s.thread_id for s in await store.list()]
    assert [IDS[3], IDS[2]] == [s.thread_id for s in await store.list(cwd="/w", limit=2)]
    assert [IDS[3], IDS[1], IDS[2], IDS[0]] == [s.thread_id for s in list_rollouts(str(home))]


async def test_summaries(home: Path) -> None:
    summaries = await RolloutStore(str(home)).list()

    path = home / "sessions/2026/01/02" / f"rollout-2026-01-02T12-00-00-{IDS[1]}.jsonl"
    expected = RolloutSummary(
        thread_id=IDS[1], path=str(path), cwd="/other", timestamp=STAMP, source="web"
    )
    assert expected == summaries[1]
    assert ["subagent", "web", "exec", "exec"] == [summary.source for summary in summaries]


async def test_the_latest_is_nobodys_child(home: Path) -> None:
    store = RolloutStore(str(home))

    assert (IDS[1], IDS[2]) == (await store.latest(), await store.latest(cwd="/w"))
    assert find_latest(str(home), cwd="/nowhere") is None
    assert find_latest(str(home / "nothing")) is None


async def test_the_references_children_are_children(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": IDS[0], "depth": 1}}}
    begun(tmp_path, "2026-01-02T12-00-00", IDS[1], source=source)

    assert find_latest(str(tmp_path)) is None


async def test_finding_by_id(home: Path) -> None:
    archived = write(home, "2024-01-01T00-00-00", "zz-1", b"", folder="archived_sessions")
    renamed = write(home, "2026-01-01T00-00-00", "zz-2_zz-3", b"")
    store = RolloutStore(str(home))

    assert (archived, renamed) == (await store.find("zz-1"), find_rollout(str(home), "zz-2"))
    with pytest.raises(ThreadNotFound, match=r"zz-4.*names of the files there"):
        await store.find("zz-4")


async def test_finding_many_by_id(home: Path) -> None:
    archived = write(home, "2024-01-01T00-00-00", "zz-1", b"", folder="archived_sessions")
    newest = write(home, "2026-01-05T00-00-00", IDS[0], b"")
    store = RolloutStore(str(home))

    expected = {"zz-1": archived, IDS[0]: newest}
    assert expected == await store.find_all(["zz-1", "zz-4", IDS[0]])
    assert {IDS[1]: find_rollout(str(home), IDS[1])} == find_rollouts(str(home), [IDS[1]])
    assert {} == find_rollouts(str(home), [])


async def test_reading(tmp_path: Path) -> None:
    lines = [line(meta(IDS[0])), line(Recorded(user_message("hi"))), line(UnknownLine("zz", 1))]
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], *map(encode_line, lines))
    rollout = await RolloutStore(str(tmp_path)).read(path)

    assert Rollout(lines=tuple(lines)) == rollout
    assert (meta(IDS[0]), None) == (rollout.meta, rollout.next_ordinal)
    assert lines == list(iter_rollout(path))


@pytest.mark.parametrize(
    ("torn", "problems"),
    [
        (b"", ()),
        (b"  \n\n", ()),
        (b'{"ti', (True,)),
        (b'{"ti\n', (False,)),
        (b"\xff\xfe\n{", (False, True)),
    ],
)
async def test_a_torn_end_is_told_from_damage(
    tmp_path: Path, torn: bytes, problems: tuple[bool, ...]
) -> None:
    first = line(meta(IDS[0]))
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], encode_line(first), torn)
    rollout = read_rollout(path)

    assert (first,) == rollout.lines
    assert problems == tuple(problem.torn for problem in rollout.problems)


async def test_damage_is_reported_by_line(tmp_path: Path) -> None:
    good = line(Recorded(user_message("hi")))
    data = [encode_line(line(meta(IDS[0]))), b"\n", b'{"type":"zz"}\n', encode_line(good)]
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], *data)
    rollout = read_rollout(path)

    reason = """the line b'{"type":"zz"}\\n' has no timestamp or no type"""
    assert (LineProblem(3, reason),) == rollout.problems
    assert good == rollout.lines[-1]


async def test_a_last_line_without_newline_counts_if_it_is_whole(tmp_path: Path) -> None:
    first = line(meta(IDS[0]))
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], encode_line(first).rstrip())

    assert Rollout(lines=(first,)) == read_rollout(path)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"{broken\n"])
async def test_an_empty_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], data)
    with pytest.raises(EmptyRollout, match="is empty"):
        read_rollout(path)


async def test_a_history_kept_in_an_unknown_way_is_refused(tmp_path: Path) -> None:
    data = encode_line(line(UnknownLine("session_meta", {"id": "x", "history_mode": "zz"})))
    path = write(tmp_path, "2026-01-02T12-00-00", IDS[0], data)
    with pytest.raises(UnreadableRollout, match="'zz'; update"):
        read_rollout(path)


async def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "x.jsonl")
    with pytest.raises(RolloutError, match="Is a directory"):
        await RolloutStore(str(tmp_path)).read(str(tmp_path / "x.jsonl"))
