"""Do anything to a tree of agents, in any order and under any schedule.

What must be true is said by tests/agents/tree_belief.py, a model of a tree without Trio;
tests/agents/tree_driver.py does to a real tree what a list of operations says, and compares. An
example is one `trio.run` with a clock that jumps and a schedule that is seeded, so that it goes
the same way each time. Those on disk are killed, too: what the disk has at some instant is
copied, and the tree is resumed from that.

The long form runs with ``--soak``.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import attrs
import pytest
import trio
import trio._core._run
import trio.lowlevel
from hypothesis import HealthCheck, Phase, find, given
from hypothesis import settings as searching
from hypothesis import strategies as st
from trio.testing import MockClock

from codex_actors.agents import DeadlinePassed, _interrupting, _load
from codex_actors.agents._books import Books
from codex_actors.agents._desk import Desk
from codex_actors.agents._post import Post
from codex_actors.agents._residency import Residency
from codex_actors.agents._slots import Slot
from codex_actors.models import ModelClient, Script, ScriptedModel
from codex_actors.testing import check_model_client
from tests.agents.tree_belief import House, Op
from tests.agents.tree_driver import Driver, PromptThreads, Puppets

Example: TypeAlias = tuple[House, list[Op]]

IN_MEMORY: Final = (
    "assign", "assign", "assign", "spawn", "spawn", "letter", "letter", "finish", "finish",
    "finish", "call", "release", "fail", "say", "crash", "interrupt", "interrupt", "close",
)  # fmt: skip
ON_DISK: Final = (*IN_MEMORY, "take_up", "kill", "kill", "kill", "reopen")

small = st.integers(0, 5)
few = st.none() | st.integers(1, 3)
houses = st.builds(
    House,
    running=few,
    loaded=few,
    children=few,
    agents=st.none() | st.integers(2, 5),
    seed=st.integers(0, 1000),
)


def examples(kinds: tuple[str, ...]) -> st.SearchStrategy[Example]:
    """A house, and what is done to those who live in it."""
    op = st.builds(
        Op,
        kind=st.sampled_from(kinds),
        a=small,
        b=small,
        flag=st.booleans(),
        cut=st.just(0) | st.just(0) | st.integers(1, 20),
        pace=st.just(0) | st.integers(1, 40),
    )
    # Lists of lists: plain ones are short, however long they may be.
    ops = st.lists(st.lists(op, min_size=1, max_size=8), min_size=1, max_size=8)
    return st.tuples(houses, ops.map(lambda parts: [op for part in parts for op in part]))


def run_in_memory(example: Example, home: Path | None = None) -> None:
    house, ops = example
    trio._core._run._r.seed(house.seed)
    threads = PromptThreads()
    driver = Driver(house, ops, home, threads)
    trio.run(driver.run, clock=MockClock(autojump_threshold=0), instruments=[threads])


def run_on_disk(example: Example) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home0"
        home.mkdir()
        run_in_memory(example, home)


@pytest.fixture(autouse=True)
def no_noise() -> Iterator[None]:
    """Agents that are told to crash say so, thousands of times."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def prove(
    run: Callable[[Example], None], what: st.SearchStrategy[Example], count: int, *, soak: bool
) -> None:
    """Run so many examples; with ``soak`` others each time, and many more."""

    @searching(
        max_examples=count * (100 if soak else 1),
        derandomize=not soak,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(what)
    def proof(example: Example) -> None:
        run(example)

    proof()


def test_tree_in_memory(request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    prove(run_in_memory, examples(IN_MEMORY), 70, soak=soak)


@pytest.mark.parametrize("seed", range(8))
def test_who_is_interrupted_twice_ends_once_and_in_order(seed: int) -> None:
    ops = [
        Op(kind="assign", a=0, b=0, flag=False, cut=0, pace=1),
        Op(kind="spawn", a=0, b=0, flag=False, cut=0, pace=0),
        Op(kind="assign", a=0, b=0, flag=False, cut=0, pace=1),
        Op(kind="assign", a=1, b=0, flag=False, cut=0, pace=5),
        Op(kind="interrupt", a=0, b=0, flag=False, cut=0, pace=1),
        Op(kind="interrupt", a=0, b=0, flag=False, cut=0, pace=0),
    ]
    run_in_memory((House(running=None, loaded=None, children=None, agents=None, seed=seed), ops))


def test_tree_on_disk(request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    prove(run_on_disk, examples(ON_DISK), 30, soak=soak)


# --- whether the model would notice ---


def is_caught(run: Callable[[Example], None], example: Example) -> bool:
    try:
        run(example)
    except (AssertionError, DeadlinePassed):
        return True
    except BaseExceptionGroup as group:
        if group.subgroup((AssertionError, DeadlinePassed)) is None:
            raise
        return True
    return False


def catch(run: Callable[[Example], None], what: st.SearchStrategy[Example], count: int) -> Example:
    """Return an example that fails.

    Raises:
        NoSuchExample: if none of so many does.
    """
    search = searching(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    return find(what, partial(is_caught, run), settings=search)


async def settle_anew(self: Books, thread_ids: Any, outcome: Any) -> None:
    """Give all tasks of an agent the outcome of its end, also those that have one."""
    gone = frozenset(thread_ids)
    await trio.lowlevel.checkpoint()
    for record in list(self.journal.state.tasks.values()):
        if record.thread_id in gone:
            told = attrs.evolve(record, outcome=outcome)
            self.journal._tally.tasks[record.id] = told
            self.hub.settle(told)


async def take_at_once(self: Slot) -> None:
    await trio.lowlevel.checkpoint()


async def admit_all(self: Residency, thread_id: Any, path: Any, resident: Any) -> None:
    await trio.lowlevel.checkpoint()
    self._loaded[thread_id] = (path, resident)


def fence_loosely(_: Books, top: Desk, by: str) -> tuple[Desk, ...]:
    """End the turns, and let whoever gets mail go on."""
    members = tuple(top.subtree())
    for desk in members:
        desk.interrupt(by)
    return members


def go_on_alone(self: Post, desk: Desk, work: Any) -> None:
    """Queue a turn, and leave the fence where it is."""
    desk.put(work)


async def forget_delivery(self: Books, desk: Desk, mail_ids: Any, turn_id: str) -> None:
    """Take mail from the box, and write nothing down."""
    for name in mail_ids:
        desk.box.pop(name, None)
    await trio.lowlevel.checkpoint()


async def enter_nothing(self: Books, edge: Any) -> None:
    await trio.lowlevel.checkpoint()


TALK: Final = ("assign", "assign", "spawn", "letter", "letter", "finish", "finish", "interrupt")
BUGS: Final[dict[str, list[tuple[Any, str, Any]]]] = {
    "the last outcome counts": [(Books, "settle_agents", settle_anew)],
    "an interrupt sets no fence": [(_interrupting, "fence", fence_loosely)],
    "nothing lifts the fence": [(Post, "go_on", go_on_alone)],
    "turns need no slot": [(Slot, "take", take_at_once)],
    "nobody is unloaded": [(Residency, "admit", admit_all)],
}
BUGS_ON_DISK: Final[dict[str, list[tuple[Any, str, Any]]]] = {
    "letters are read again by a resumed agent": [
        (_load, "delivered_ids", lambda lines: frozenset()),
        (Books, "note_delivered", forget_delivery),
    ],
    "what was spawned is not written down": [(Books, "enter", enter_nothing)],
}


@pytest.mark.parametrize("bug", BUGS)
def test_bug_in_memory(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for patch in BUGS[bug]:
        monkeypatch.setattr(*patch)

    assert catch(run_in_memory, examples((*TALK, "close")), 1000)


@pytest.mark.parametrize("bug", BUGS_ON_DISK)
def test_bug_on_disk(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for patch in BUGS_ON_DISK[bug]:
        monkeypatch.setattr(*patch)

    assert catch(run_on_disk, examples((*TALK, "kill", "kill", "reopen")), 1000)


# --- whether the doubles are what they say ---


def play(script: Script) -> AbstractAsyncContextManager[ModelClient]:
    @asynccontextmanager
    async def open_puppets() -> Any:
        yield Puppets(lambda request: request.answer(ScriptedModel(script)))

    return open_puppets()


async def test_puppets_are_a_model_client(autojump_clock: MockClock) -> None:
    await check_model_client(play)


def test_threads_take_no_time() -> None:
    async def main() -> float:
        with trio.move_on_after(60):
            await trio.to_thread.run_sync(time.sleep, random.uniform(0.01, 0.05))
        return trio.current_time()

    clock = MockClock(autojump_threshold=0)

    assert 0.0 == trio.run(main, clock=clock, instruments=[PromptThreads()])
