"""Do anything to a tree of agents, in any order and under any schedule."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio
import trio._core._run
from hypothesis import HealthCheck, given
from hypothesis import settings as searching
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.agents.tree_belief import House, Op
from tests.agents.tree_driver import Driver, PromptThreads

IN_MEMORY = (
    "assign", "assign", "assign", "spawn", "spawn", "letter", "letter", "finish", "finish",
    "finish", "call", "release", "fail", "say", "crash", "interrupt", "interrupt", "close",
)  # fmt: skip

small = st.integers(0, 5)
few = st.none() | st.integers(1, 3)
steps = st.just(0) | st.integers(1, 40)
houses = st.builds(
    House,
    running=few,
    loaded=few,
    children=few,
    agents=st.none() | st.integers(2, 5),
    seed=st.integers(0, 1000),
)


def ops(kinds: tuple[str, ...]) -> st.SearchStrategy[list[Op]]:
    one = st.builds(
        Op,
        kind=st.sampled_from(kinds),
        a=small,
        b=small,
        flag=st.booleans(),
        cut=st.just(0) | st.just(0) | st.integers(1, 20),
        pace=steps,
    )
    return st.lists(one, min_size=1, max_size=30)


def run(house: House, todo: list[Op], home: Any = None) -> None:
    trio._core._run._r.seed(house.seed)
    threads = PromptThreads()
    driver = Driver(house, todo, home, threads)
    trio.run(driver.run, clock=MockClock(autojump_threshold=0), instruments=[threads])


@searching(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(houses, ops(IN_MEMORY))
def test_tree_in_memory(house: House, todo: list[Op]) -> None:
    run(house, todo)


ON_DISK = (*IN_MEMORY, "take_up", "kill", "kill", "kill", "reopen")


def run_on_disk(house: House, todo: list[Op]) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home0"
        home.mkdir()
        run(house, todo, home)


RUN = {"memory": run, "disk": run_on_disk}
OPS = {"memory": ops(IN_MEMORY), "disk": ops(ON_DISK)}
