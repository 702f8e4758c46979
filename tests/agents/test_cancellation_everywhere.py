"""Cancellation everywhere: one thing goes wrong at the nth task step of a run, for every n.

The run is a tree of three levels at work (see tests/agents/everywhere.py), the laws are in
tests/agents/laws.py. The short form strikes at some of the steps, `--soak` at every one. A failure
says where it struck and under which seed; `Play(..., seed=seed, at=n)` is the same run again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from codex_actors.actors import ActorRef, Supervisor
from codex_actors.agents import _spawn
from codex_actors.agents._agent import start_actor
from codex_actors.agents._commons import Commons
from codex_actors.agents._desk import Desk
from codex_actors.protocol import (
    EventLine,
    Message,
    Recorded,
    RolloutPayload,
    ThreadId,
    TurnAborted,
)
from codex_actors.rollout import FlushReport, Recorder, RecorderStatistics, Rollout
from tests.agents.everywhere import Play
from tests.agents.faulty import Disk
from tests.agents.laws import judge_end, judge_rest

STRIDE: Final = 97
"""Every which step the short form strikes at; a prime, so that phases do not repeat."""

Strike = Callable[[Play], None]


def have(kind: str, path: str, *args: str) -> Strike:
    """Have somebody call something of an agent."""

    def strike(play: Play) -> None:
        call: Callable[..., Awaitable[Any]] = getattr(play, kind)
        play.wake(partial(call, path, *args))

    return strike


def cancel_tree(play: Play) -> None:
    play.around.cancel(reason="injected")


def cancel_newest_call(play: Play) -> None:
    if play.under_way:
        play.under_way[-1].scope.cancel(reason="injected")


def cancel_oldest_call(play: Play) -> None:
    if play.under_way:
        play.under_way[0].scope.cancel(reason="injected")


def plant(who: str) -> Strike:
    return lambda play: play.plant(who)


def break_disk(what: str) -> Strike:
    def strike(play: Play) -> None:
        play.disk.bug, play.lies_in_wait = what, True

    return strike


def refuse(*, flushes: float = 0, entries: float = 0) -> Strike:
    def strike(play: Play) -> None:
        play.disk.refusals, play.ledger.refusals, play.lies_in_wait = flushes, entries, True

    return strike


FAULTS: Final[dict[str, Strike]] = {
    "interrupt of the root": have("interrupt", "/root", "injected"),
    "interrupt of a middle agent": have("interrupt", "/root/a", "injected"),
    "interrupt of what is interrupted": have("interrupt", "/root/c", "injected"),
    "interrupt of a leaf": have("interrupt", "/root/a/g", "injected"),
    "close of the root": have("close", "/root"),
    "close of a middle agent": have("close", "/root/a"),
    "close of what is closed": have("close", "/root/c"),
    "close of a leaf": have("close", "/root/c/d"),
    "cancel of the tree": cancel_tree,
    "cancel of the newest call": cancel_newest_call,
    "cancel of the oldest call": cancel_oldest_call,
    "bug in a tool": plant("tool"),
    "bug in the model client": plant("model"),
    "bug when a line is appended": break_disk("append"),
    "bug when lines are flushed": break_disk("flush"),
    "disk that refuses for a while": refuse(flushes=3),
    "disk that refuses for ever": refuse(flushes=math.inf, entries=math.inf),
    "journal that is refused once": refuse(entries=1),
    "journal that is refused for a while": refuse(entries=4),
    "journal that is refused for ever": refuse(entries=math.inf),
}


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    """Keep the log of bugs that were planted from being made: that takes longer than the runs."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def stride(request: pytest.FixtureRequest) -> int:
    return 1 if request.config.getoption("--soak") else STRIDE


def play_once(home: Path, **wishes: Any) -> Play:
    play = Play(home, judges=(judge_rest,), **wishes)
    play.run()
    judge_end(play)
    return play


def strike_everywhere(
    home: Path, name: str, *, seed: int, stride: int, **wishes: Any
) -> tuple[int, list[str]]:
    """Strike at every which step, until the run ends before, or something is broken.

    Returns:
        The last step, and what was broken there.
    """
    # Each fault begins elsewhere, so that together they see most of the run.
    at = 1 + 13 * sorted(FAULTS).index(name) % stride
    while True:
        play = play_once(home, seed=seed, at=at, strike=FAULTS[name], **wishes)
        if play.broken or not play.moment.struck:
            reach = f"{name}: N = {at} of {play.moment.steps} steps, seed {seed}"
            print(reach)  # noqa: T201 - what `-s` is for
            return at, play.broken
        at = max(at + stride, int(play.same_until) + 1)


def test_the_run_does_what_it_is_there_for_and_is_the_same_each_time(
    tmp_path: Path, schedule: int
) -> None:
    first, second = (play_once(tmp_path, seed=schedule) for _ in range(2))
    kinds = {note.what.partition(" ")[0] for note in first.notes}
    outcomes = {type(record.outcome).__name__ for record in first.told.values()}
    marks = [line for lines in first.disk.lines.values() for line in lines if is_marker(line)]

    assert [] == first.broken
    assert [(n.what, n.path) for n in first.notes] == [(n.what, n.path) for n in second.notes]
    assert first.moment.steps == second.moment.steps
    assert {"spawn", "assign", "send", "interrupt", "close", "request"} == kinds
    assert {"TaskCompleted", "TaskInterrupted"} == outcomes
    assert len(marks) == 4
    assert 7 == len(first.letters)


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_goes_wrong_wherever_the_laws_hold(
    name: str, tmp_path: Path, schedule: int, stride: int
) -> None:
    at, broken = strike_everywhere(tmp_path, name, seed=schedule, stride=stride)

    assert [] == broken, f"{name} at N = {at}, seed {schedule}"


# Bugs that must be found


@attrs.define(eq=False)
class Disguise:
    """A recorder that passes everything on to the disk."""

    disk: Disk

    @property
    def report(self) -> FlushReport:
        return self.disk.report

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        self.disk.append(thread_id, payload)

    def adopt(self, thread_id: ThreadId, path: str, *, next_ordinal: int | None = None) -> None:
        self.disk.adopt(thread_id, path, next_ordinal=next_ordinal)

    def path(self, thread_id: ThreadId) -> str | None:
        return self.disk.path(thread_id)

    def statistics(self) -> RecorderStatistics:
        return self.disk.statistics()

    async def flush(self, *, sync: bool = False) -> FlushReport:
        return await self.disk.flush(sync=sync)

    async def read(self, thread_id: ThreadId) -> Rollout:
        return await self.disk.read(thread_id)


class NoMarker(Disguise):
    """Leaves out what tells a model of an interrupt."""

    def append(self, thread_id: ThreadId, payload: RolloutPayload) -> None:
        if not is_marker(payload):
            super().append(thread_id, payload)


class NoFlush(Disguise):
    """Does not flush the end of a turn that was aborted."""

    async def flush(self, *, sync: bool = False) -> FlushReport:
        waiting = [
            line
            for name, lines in self.disk.lines.items()
            for line in lines[self.disk.flushed.get(name, 0) :]
        ]
        if any(isinstance(e, EventLine) and isinstance(e.msg, TurnAborted) for e in waiting):
            return self.disk.report
        return await super().flush(sync=sync)


def is_marker(line: RolloutPayload) -> bool:
    said = line.item.text if isinstance(line, Recorded) and isinstance(line.item, Message) else ""
    return said.startswith("<turn_aborted>")


@pytest.mark.parametrize(
    ("disguise", "complaint"), [(NoMarker, "has no marker"), (NoFlush, "before")]
)
def test_a_recorder_that_forgets_is_found(
    disguise: Callable[[Disk], Recorder], complaint: str, tmp_path: Path, schedule: int
) -> None:
    name = "interrupt of a middle agent"
    _, broken = strike_everywhere(tmp_path, name, seed=schedule, stride=STRIDE, disguise=disguise)

    assert any(complaint in each for each in broken), broken


def test_a_child_that_its_owner_does_not_keep_is_found(
    tmp_path: Path, schedule: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no door for this: where a child lives is what the house is built around."""
    trees: list[Play] = []

    async def detach(commons: Commons, desk: Desk, supervisor: Supervisor) -> ActorRef[Any]:
        elsewhere = trees[-1].tree._supervisor if desk.path.depth == 2 else supervisor
        return await start_actor(commons, desk, elsewhere)

    monkeypatch.setattr(_spawn, "start_actor", detach)
    name = "close of a middle agent"
    play = Play(tmp_path, seed=schedule, at=300, strike=FAULTS[name], judges=(judge_rest,))
    trees.append(play)
    play.run()
    judge_end(play)

    assert any("though /root/a is closed" in each for each in play.broken), play.broken
