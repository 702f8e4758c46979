from __future__ import annotations

import json

import attrs
import pytest
from rich.cells import cell_len

from codex_actors.cli._tree_lines import Canvas, draw_rows, spell_rows
from codex_actors.cli._tree_rows import AgentRow
from codex_actors.cli._tree_settings import Effective
from codex_actors.protocol import (
    Completed,
    DangerFullAccess,
    Errored,
    ReadOnly,
    TaskFailed,
    ThreadId,
    TokenUsage,
)

ROWS = (
    AgentRow(
        path="/root", thread_id=ThreadId("1"), status=Completed("x"), task="mend the tests",
        tokens=12_345, total_tokens_below=1110, seconds=72.0, inner=True,
    ),
    AgentRow(
        path="/root/reviewer", thread_id=ThreadId("2"), parent_thread_id=ThreadId("1"),
        role="reviewer", status="running", task="look\x1b[2J at\n\n  it\u202e", tokens=10,
        total_tokens_below=100, inner=True, lasts=(False,), unread=2,
    ),
    AgentRow(
        path="/root/reviewer/deep", thread_id=ThreadId("3"), parent_thread_id=ThreadId("2"),
        status=Errored("no"), outcome=TaskFailed("no"), tokens=100, closed=True, reason="crashed",
        lasts=(False, True),
    ),
    AgentRow(
        path="/root/gone/b", thread_id=ThreadId("4"), parent_thread_id=ThreadId("1"), tokens=1000,
        closed=True, seconds=0.25, lasts=(True,),
    ),
)  # fmt: skip


def drawn(
    canvas: Canvas,
    rows: tuple[AgentRow, ...] = ROWS,
    holder: str | None = None,
    *,
    verbose: bool = False,
) -> str:
    return "\n".join(draw_rows(rows, canvas, holder=holder, verbose=verbose))


def test_a_tree() -> None:
    expected = """\
agent            role      status             tokens  below        time  task
/root                      completed           12.3k  +1.1k  1 min 12 s  mend the tests
├─ reviewer      reviewer  running, 2 unread      10   +100       0.0 s  look�[2J at it�
│  └─ deep                 errored, crashed      100              0.0 s
└─ /root/gone/b            not begun, closed    1.0k              0.2 s

4 agents, 2 of them closed; 13.5k tokens in 1 min 12 s of turns; 2 letters not read yet
process 123 is working on it now"""

    assert expected == drawn(Canvas(), holder="123")


def test_settings_that_the_owner_has_otherwise() -> None:
    own = Effective(model="big", effort="high", sandbox=DangerFullAccess(), cwd="/w")
    others = Effective(model="small", effort="low", sandbox=ReadOnly(), cwd="/w/docs")
    rows = tuple(
        attrs.evolve(row, settings=settings, task=None, role=None)
        for row, settings in zip(ROWS, (own, others, others, own), strict=True)
    )

    told = drawn(Canvas(), rows).splitlines()
    assert told[0].endswith("time  settings")
    assert told[2].endswith("s  small, effort low, read-only, in /w/docs")
    assert all(told[n].endswith(" s") for n in (1, 3, 4))
    told = drawn(Canvas(), rows, verbose=True).splitlines()
    assert told[1].endswith("s  big, effort high, danger-full-access, in /w")
    assert told[3].endswith("s  small, effort low, read-only, in /w/docs")


def test_the_total_says_what_tokens_they_were() -> None:
    usage = TokenUsage(input_tokens=12_000, cached_input_tokens=2_000, output_tokens=345)
    root = attrs.evolve(ROWS[0], total_usage=usage)

    assert (
        drawn(Canvas(), (root, *ROWS[1:]))
        .splitlines()[-1]
        .startswith(
            "4 agents, 2 of them closed; 13.5k tokens (12.0k in, 2.0k of them cached, 345 out) in 1 min"
        )
    )


def test_one_agent_needs_few_columns() -> None:
    [row] = [attrs.evolve(ROWS[0], inner=False, total_tokens_below=0)]
    expected = """\
agent  status     tokens        time  task
/root  completed   12.3k  1 min 12 s  mend the tests

1 agent; 12.3k tokens in 1 min 12 s of turns"""

    assert expected == drawn(Canvas(), (row,))


def test_what_cannot_be_encoded_is_drawn_with_less() -> None:
    rows = (*ROWS[:3], attrs.evolve(ROWS[3], task="ä→"))

    lines = drawn(Canvas(encoding="latin-1"), rows).splitlines()
    assert ["|- reviewer ", "|  `- deep  ", "`- /root/gon"] == [line[:12] for line in lines[2:5]]
    assert lines[4].endswith(r"  ä\u2192")
    drawn(Canvas(encoding="ascii"), rows).encode("ascii")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [1, 2, 5, 17, 40, 79, 80, 200])
def test_lines_fit_a_terminal(width: int, encoding: str) -> None:
    rows = (*ROWS, attrs.evolve(ROWS[0], task="漢字" * 99, role="r" * 99))
    lines = drawn(Canvas(width=width, encoding=encoding), rows, "123").splitlines()

    assert max(map(cell_len, lines)) <= width
    assert any(line.endswith(("…", ".")) for line in lines)


def test_a_long_task_is_cut() -> None:
    [row] = [attrs.evolve(ROWS[0], task="x" * 10**6)]

    line = drawn(Canvas(), (row,)).splitlines()[1]
    assert line.endswith(f"  {'x' * 499}…")
    assert drawn(Canvas(width=60), (row,)).splitlines()[1].endswith("xxx…")


def test_colors() -> None:
    lines = drawn(Canvas(colored=True)).splitlines()

    assert "\x1b[32m  completed" in lines[1]
    assert 2 == lines[1].count("\x1b[")
    assert "\x1b[36m  running, 2 unread\x1b[0m" in lines[2]
    assert lines[3].startswith("\x1b[2m│  └─ deep")
    assert not any("\x1b" in line for line in lines[5:])


def test_json_has_an_object_for_each() -> None:
    settings = Effective(model="m", sandbox=ReadOnly(), cwd="/w")
    usage = TokenUsage(input_tokens=90, output_tokens=10, total_tokens=100)
    rows = (*ROWS[:2], attrs.evolve(ROWS[2], settings=settings, total_usage=usage), ROWS[3])
    objects = [json.loads(line) for line in spell_rows(rows)]

    expected = {
        "path": "/root/reviewer/deep",
        "thread_id": "3",
        "parent_thread_id": "2",
        "role": None,
        "model": "m",
        "effort": None,
        "sandbox": "read-only",
        "cwd": "/w",
        "status": {"errored": "no"},
        "task": None,
        "outcome": {"type": "failed", "message": "no", "kind": "other"},
        "tokens": 100,
        "total_tokens_below": 0,
        "total_usage": {
            "input_tokens": 90,
            "cached_input_tokens": 0,
            "cache_write_input_tokens": 0,
            "output_tokens": 10,
            "reasoning_output_tokens": 0,
            "total_tokens": 100,
        },
        "seconds": 0.0,
        "closed": True,
        "reason": "crashed",
        "unread": 0,
    }
    assert expected == objects[2]
    assert [row.path for row in ROWS] == [each["path"] for each in objects]


def test_json_holds_nothing_that_a_terminal_obeys() -> None:
    [row] = [attrs.evolve(ROWS[0], task="\x1b[31m \x9b31m \u202e é")]
    [line] = spell_rows((row,))

    assert line.isprintable()
    assert "é" in line
    assert row.task == json.loads(line)["task"]
