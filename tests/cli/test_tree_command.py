"""A journal that was made through its own methods, and rollouts, as the command shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from codex_actors.cli._errors import UsageError
from codex_actors.cli._tree_command import read_tree, tree_command
from codex_actors.protocol import (
    ROOT,
    EventLine,
    EventMsg,
    LetterId,
    PostedLetter,
    RolloutLine,
    RolloutPayload,
    SessionMeta,
    TaskCompleted,
    TaskFailed,
    TaskId,
    TaskRecord,
    ThreadId,
    TokensCounted,
    TokenUsage,
    TokenUsageInfo,
    TurnCompleted,
    TurnStarted,
    UserMessageRecorded,
)
from codex_actors.rollout import (
    AgentEdge,
    ThreadNotFound,
    journal_path,
    open_journal,
    open_lock,
)
from codex_actors.wire import encode_line

LEAD, A, B = map(ThreadId, ("lead", "a", "b"))
MADE_AS = {
    "role": "reviewer",
    "model": "m",
    "sandbox_policy": {"type": "read-only"},
    "cwd": "/w",
}
FREE = {"sandbox_policy": {"type": "danger-full-access"}}
STAMP = "2026-01-02T12:04:05.678Z"


def edge(thread_id: ThreadId, **more: Any) -> AgentEdge:
    path = ROOT if thread_id == LEAD else ROOT.child(thread_id)
    owner = None if thread_id == LEAD else LEAD
    return AgentEdge(
        path=path, thread_id=thread_id, parent_thread_id=owner, created_at=STAMP, **more
    )


def record(name: str, thread_id: ThreadId, text: str) -> TaskRecord:
    return TaskRecord(id=TaskId(name), thread_id=thread_id, path=ROOT, text=text, assigned_at=STAMP)


def meta(thread_id: ThreadId, home: Path) -> SessionMeta:
    return SessionMeta(
        id=thread_id, session_id=LEAD, timestamp=STAMP, cwd=str(home), originator="test",
        cli_version="0", parent_thread_id=None if thread_id == LEAD else LEAD,
    )  # fmt: skip


def write_rollout(home: Path, thread_id: ThreadId, *payloads: RolloutPayload) -> Path:
    path = home / "sessions/2026/01/02" / f"rollout-2026-01-02T12-00-00-{thread_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [RolloutLine(STAMP, payload) for payload in (meta(thread_id, home), *payloads)]
    path.write_bytes(b"".join(map(encode_line, lines)))
    return path


def turn(tokens: int, *, ends: bool = True) -> tuple[EventLine, ...]:
    usage = TokenUsageInfo(total_token_usage=TokenUsage(total_tokens=tokens))
    done = TurnCompleted(turn_id="1", last_agent_message="done", duration_ms=2500)
    start: list[EventMsg] = [TurnStarted(turn_id="1"), UserMessageRecorded(message="please")]
    msgs: list[EventMsg] = [*start, TokensCounted(usage, None), *([done] if ends else [])]
    return tuple(map(EventLine, msgs))


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_ACTORS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with open_journal(str(tmp_path), LEAD) as journal:
        await journal.create_agent(edge(LEAD, spec={**MADE_AS, "role": None, **FREE}))
        await journal.assign(record("1", LEAD, "lead them"))
        await journal.create_agents([edge(A, spec=MADE_AS), edge(B)])
        await journal.assign(record("2", A, "review it"))
        await journal.settle(TaskId("2"), TaskCompleted("fine"))
        await journal.assign(record("3", B, "mend it"))
        await journal.settle(TaskId("3"), TaskFailed("it broke"))
        letter = PostedLetter(
            id=LetterId("1"), sender=ROOT, receiver=A, path=ROOT.child("a"), text="look",
            trigger=False, sent_at=STAMP,
        )  # fmt: skip
        await journal.post(letter)
        await journal.close_agent(B, "crashed")
    write_rollout(tmp_path, LEAD, *turn(100, ends=False))
    write_rollout(tmp_path, A, *turn(20))
    return tmp_path


EXPECTED = """\
agent  role      status               tokens  below   time  settings   task
/root            interrupted             100    +20  0.0 s             lead them
├─ a   reviewer  completed, 1 unread      20         2.5 s  read-only  review it
└─ b             not begun, crashed        0         0.0 s             mend it

3 agents, 1 of them closed; 120 tokens in 2.5 s of turns; 1 letter not read yet
"""


@pytest.mark.parametrize("words", [["lead"], ["a"], ["--last"], ["--last", "--all"]])
async def test_a_finished_tree(
    home: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == tree_command(words)

    assert (EXPECTED, "") == capsys.readouterr()


def usage_of(tokens: int) -> dict[str, int]:
    return attrs.asdict(TokenUsage(total_tokens=tokens))


async def test_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == tree_command(["lead", "--json"])

    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = {
        "path": "/root/a", "thread_id": "a", "parent_thread_id": "lead", "role": "reviewer",
        "model": "m", "effort": None, "sandbox": "read-only", "cwd": "/w",
        "status": {"completed": "done"}, "task": "review it",
        "outcome": {"type": "completed", "message": "fine"}, "tokens": 20,
        "total_tokens_below": 0, "total_usage": usage_of(20), "seconds": 2.5, "closed": False,
        "reason": None, "unread": 1,
    }  # fmt: skip
    assert expected == objects[1]
    assert [("lead", 20, 120), ("a", 0, 20), ("b", 0, 0)] == [
        (each["thread_id"], each["total_tokens_below"], each["total_usage"]["total_tokens"])
        for each in objects
    ]


async def test_a_tree_that_is_worked_on(home: Path) -> None:
    async with open_lock(str(home), LEAD):
        found = await trio.to_thread.run_sync(read_tree, str(home), LEAD)

    assert found.holder is not None
    assert "running" == found.rows[0].status


async def test_damage_is_reported_and_the_rest_is_drawn(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Path(journal_path(str(home), LEAD))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([b"\x1b[2J{\n", *lines, lines[0][:20]]))
    rollout = write_rollout(home, A, *turn(20))
    rollout.write_bytes(rollout.read_bytes() + b"{}\n[]\n{torn")

    assert 0 == tree_command(["lead"])
    shown = capsys.readouterr()
    assert EXPECTED == shown.out
    assert re.fullmatch(
        rf"""warning: {journal}: line 1: the text .*
warning: {journal}: line 12: the text .*
warning: {rollout}: line 6: the line .* has no timestamp or no type; and 1 more
""",
        shown.err,
    )
    assert "\x1b" not in shown.err


async def test_a_rollout_that_cannot_be_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rollout(home, A)
    path.write_bytes(path.read_bytes().replace(b'"legacy"', b'"zz"'))
    gone = write_rollout(home, LEAD)
    gone.unlink()
    gone.symlink_to(home / "nowhere")

    assert 0 == tree_command(["lead"])
    shown = capsys.readouterr()
    assert "keeps its history as 'zz'; update" in shown.err
    assert f"{gone} cannot be read: No such file or directory\n" in shown.err
    assert "├─ a   reviewer  not begun, 1 unread" in shown.out


async def test_a_root_without_a_journal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(journal_path(str(home), LEAD)).unlink()

    assert 0 == tree_command(["lead"])
    assert "/root  interrupted     100  0.0 s  please" in capsys.readouterr().out


async def test_there_may_be_no_such_tree(home: Path) -> None:
    with pytest.raises(ThreadNotFound, match=r"no thread 'zz' in .*names of the files there"):
        tree_command(["zz"])
    Path(journal_path(str(home), "zz")).write_text("{\n")
    with pytest.raises(ThreadNotFound, match="no thread 'zz'"):
        tree_command(["zz"])


async def test_nothing_began_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "below").mkdir()
    monkeypatch.chdir(home / "below")

    with pytest.raises(UsageError, match=r"no thread that began in .*below'; --all looks"):
        tree_command(["--last"])
    assert 0 == tree_command(["--last", "--all"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "takes the id of a thread, or --last"),
        (["lead", "--last"], "takes the id of a thread, or --last"),
        (["lead", "--all"], "--all goes with --last"),
    ],
)
def test_words_that_are_wrong(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        tree_command(words)

    assert 2 == caught.value.code
    assert told in capsys.readouterr().err
