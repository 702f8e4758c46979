"""Whatever was announced before a ``kill -9`` is there when the tree is resumed."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import pytest
import trio

from codex_actors.agents import AgentHandle, AgentSpec, AgentTree, open_agents, report_leftovers
from codex_actors.core import letter_entry, notice_item
from codex_actors.models import ScriptedModel
from codex_actors.protocol import (
    TaskCompleted,
    TaskId,
)
from codex_actors.rollout import (
    journal_path,
    read_journal,
)
from codex_actors.sandbox import kill_leftovers
from codex_actors.wire import decode_letter
from tests.integration.support import ROOT as REPOSITORY
from tests.integration.tree_program import MARK, SAY, settings
from tests.integration.tree_records import Disk, Told, check_told

SHORT: Final = 12
LONG: Final = 200


@attrs.frozen
class Instant:
    """When to kill: so many announcements were read, and then so many seconds passed."""

    count: int
    seconds: float = 0.0
    """Before the next announcement; that one ends the waiting, too."""


NEVER: Final = Instant(10**9)


@attrs.frozen
class Lives:
    """Starts the program, again and again."""

    zygote: subprocess.Popen[str]
    pipe: Path

    def live(self, home: Path, mark: str, resume: str | None, instant: Instant) -> list[Any]:
        """Let it live until the instant; return everything that it announced."""
        return [line for _, line in self.watch(home, mark, resume, instant)]

    def watch(
        self, home: Path, mark: str, resume: str | None, instant: Instant
    ) -> list[tuple[float, Any]]:
        """The same, with the time of each announcement."""
        assert self.zygote.stdin is not None
        self.zygote.stdin.write(f"{json.dumps([str(home), mark, resume, str(self.pipe)])}\n")
        self.zygote.stdin.flush()
        told = os.open(self.pipe, os.O_RDONLY)
        try:
            return _read(told, instant)
        finally:
            os.close(told)


def _read(told: int, instant: Instant) -> list[tuple[float, Any]]:
    """Read what is announced, and kill who announces it. To the end: what was written counts."""
    data, killed, pid = b"", False, 0
    times: list[float] = []
    while True:
        if len(times) > instant.count and not killed:
            select.select([told], [], [], instant.seconds)
            os.kill(pid, signal.SIGKILL)
            killed = True
        # Little at a time, so that a kill comes between the announcements that it is meant for.
        more = os.read(told, 1 << 16 if killed else 64)
        if not more:
            break
        data += more
        times += [time.monotonic()] * more.count(b"\n")
        if pid == 0 and times:
            pid = json.loads(data.partition(b"\n")[0])[1]
    *lines, _torn = data.split(b"\n")
    return list(zip(times, map(json.loads, lines), strict=True))


@contextmanager
def open_lives(folder: Path) -> Iterator[Lives]:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    zygote = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.tree_program"],
        stdin=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        text=True,
    )
    with zygote:
        yield Lives(zygote, pipe)


def check_disk(disk: Disk) -> None:
    """Of a program that was killed at most the last line of each file is not whole."""
    assert 1 >= len(disk.journal.problems)
    for rollout in disk.rollouts.values():
        assert [] == [problem for problem in rollout.problems if not problem.torn]


def check_once(told: Told, disk: Disk) -> None:
    """Mail was delivered once."""
    histories = {thread_id: disk.items(thread_id) for thread_id in disk.rollouts}
    for thread_id in disk.rollouts:
        delivered = disk.deliveries(thread_id)
        assert sorted(set(delivered)) == sorted(delivered)
    for spelled in told.letters:
        letter = decode_letter(spelled)
        count = histories.get(letter.receiver, []).count(letter_entry(letter).item)
        assert count == 1 or (count == 0 and letter.receiver in told.closing), letter
    for record in disk.journal.tasks.values():
        if record.reply_to is not None and record.outcome is not None:
            # Of those that were closed, nobody knows what they have read.
            count = disk.deliveries(record.reply_to).count(record.id)
            assert count == 1 or (count == 0 and record.reply_to in told.closing), record
            notices = histories.get(record.reply_to, []).count(notice_item(record))
            assert notices >= count, record


async def revive(home: Path, mark: str, told: Told, wish: Literal["restart", "leave"]) -> None:
    """Resume the tree, have everything done that was left, and end it."""
    assert told.root is not None
    unfinished = read_journal(journal_path(str(home), told.root)).unsettled
    with trio.fail_after(60):
        async with open_agents(settings(home, mark), model=ScriptedModel()) as tree:
            root = await tree.spawn(AgentSpec(resume=told.root, unfinished=wish))
            check_agents(told, tree)
            if wish == "leave":
                await finish_tasks(tree, {record.id for record in unfinished})
            await have_all_read(root)
            await have_all_read(root)
    after = read_journal(journal_path(str(home), told.root))
    for record in unfinished:
        if record.thread_id in after.agents:
            outcome = after.tasks[record.id].outcome
            assert isinstance(outcome, TaskCompleted), record
    assert () == after.unsettled


def check_agents(told: Told, tree: AgentTree) -> None:
    paths = {agent.thread_id: agent.path for agent in tree.snapshot()}
    for thread_id, path in told.spawned.items():
        if thread_id not in told.closing:
            assert path == paths[thread_id]
    assert set() == told.closed & paths.keys()


async def finish_tasks(tree: AgentTree, known: set[TaskId]) -> None:
    tasks = tree.unfinished
    assert known >= {task.id for task in tasks}
    for task in tasks:
        await task.restart()
    await tree.wait_all(tasks)


async def have_all_read(root: AgentHandle) -> None:
    """Give every agent a turn: it finds its mail in it."""
    waiting, tasks = [root], []
    while waiting:
        agent = waiting.pop()
        waiting.extend(agent.children)
        tasks.append(await agent.assign(SAY))
    for task in tasks:
        await task.wait()


async def check_leftovers(home: Path, mark: str) -> None:
    """What runs on is reported at the next start, and can be ended then."""
    before = marked(mark)
    reported = {leftover.identity.pid for leftover in await report_leftovers(settings(home, mark))}
    # Who ends meanwhile need not be reported; who begins has a parent that is.
    assert set() == before & marked(mark) - reported
    assert () == await kill_leftovers(home / "processes")
    assert set() == marked(mark)


def marked(mark: str) -> set[int]:
    """Pids of living processes that a life has started."""
    setting, found = f"{MARK}={mark}".encode(), set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if setting in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
        except OSError:
            continue
    return found


def choose_instants(full: list[tuple[float, Any]], count: int) -> Iterator[Instant]:
    """Spread instants over a life: some right after an announcement, most in between."""
    chance = random.Random(count)
    began, ended = full[0][0], full[-1][0]
    for number in range(count):
        if number % 3 == 2:
            yield Instant(chance.randrange(len(full)))
            continue
        moment = began + (ended - began) * (number + chance.random()) / count
        before = max(n for n, (at, _) in enumerate(full) if at <= moment)
        yield Instant(before, moment - full[before][0])


def test_what_was_announced_is_there_after_kill_9(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    count = LONG if request.config.getoption("--soak") else SHORT
    wishes: tuple[Literal["restart", "leave"], ...] = ("restart", "leave")
    with open_lives(tmp_path) as lives:
        (tmp_path / "full").mkdir()
        full = lives.watch(tmp_path / "full", f"{tmp_path.name}-full", None, NEVER)
        assert ["end"] == full[-1][1]
        for number, instant in enumerate(choose_instants(full, count)):
            home, mark = tmp_path / str(number), f"{tmp_path.name}-{number}"
            home.mkdir()
            # Some are killed when they have come back, too.
            instants = [instant, Instant(instant.count // 2)][: 1 + (number % 4 == 3)]
            check_lives(lives, home, mark, instants, wishes[number % 2])


def check_lives(
    lives: Lives, home: Path, mark: str, instants: list[Instant], wish: Literal["restart", "leave"]
) -> None:
    told = Told()
    for instant in instants:
        told.add(lives.live(home, mark, told.root, instant))
        trio.run(check_leftovers, home, mark)
        if told.root is None:
            return
        disk = Disk.read(home, told.root)
        check_disk(disk)
        check_told(told, disk)
    trio.run(revive, home, mark, told, wish)
    assert told.root is not None
    disk = Disk.read(home, told.root)
    check_told(told, disk)
    check_once(told, disk)
    assert set() == marked(mark)
