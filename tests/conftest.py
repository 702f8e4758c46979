from __future__ import annotations

import inspect
import resource
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio
import trio._core._run
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is. No test is about that.
settings.register_profile(
    "codex_actors", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("codex_actors")

# A shell has what it runs in the background ignore these, and so would all that tests start.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        )

LONGEST_STEP: Final = 1.0
"""Seconds of a processor's time for which one task may keep all others from running."""


@pytest.fixture(autouse=True, scope="session")
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep login shells of the commands under test from reading somebody's profile.

    Profiles are slow, and killing one half-way can leave its locks behind.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def limit_files() -> Iterator[Callable[[int | None], None]]:
    """Let no file grow beyond a limit that the test sets; Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))

    yield limit
    limit(None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--schedules", type=int, default=1)
    parser.addoption("--soak", action="store_true", help="run the long forms of proofs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "schedule" in metafunc.fixturenames:
        count = metafunc.config.getoption("--schedules")
        metafunc.parametrize("schedule", range(count), indirect=True)


@pytest.fixture(autouse=True)
def schedule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Run the test under one reproducible order of task switches."""
    run = trio._core._run
    monkeypatch.setattr(run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
    state = run._r.getstate()
    run._r.seed(getattr(request, "param", 0))
    yield getattr(request, "param", 0)
    run._r.setstate(state)


@attrs.define(eq=False)
class StepTimer(trio.abc.Instrument):
    """Remembers which task held the event loop for longest.

    It counts the thread's own time, since a busy machine stretches the clock's.
    """

    longest: float = 0.0
    task: str = ""
    _began: float = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.thread_time() - self._began
        if took > self.longest:
            self.longest, self.task = took, task.name


def run_unblocked(
    main: Callable[[], Awaitable[None]],
    *,
    clock: trio.abc.Clock | None,
    instruments: Sequence[trio.abc.Instrument],
) -> None:
    """Run a test of Trio, and fail it when a task held the event loop for too long."""
    timer = StepTimer()
    trio.run(main, clock=clock, instruments=[*instruments, timer])
    assert timer.longest < LONGEST_STEP, (
        f"the task {timer.task} held the event loop for {timer.longest:.1f} s"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.trio(run=run_unblocked))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fail a test that leaves a thread behind that would keep the process, or an open rollout."""
    threads, rollouts = set(threading.enumerate()), open_rollouts()
    yield
    left = [t for t in threading.enumerate() if t not in threads and not t.daemon]
    assert ([], set()) == (left, open_rollouts() - rollouts)


def open_rollouts() -> set[str]:
    """Return the rollouts that this process has open, where the system tells."""
    found: list[str] = []
    for link in Path("/proc/self/fd").glob("*"):
        try:
            found.append(str(link.readlink()))
        except OSError:  # it was the descriptor of this very listing
            continue
    return {name for name in found if "/rollout-" in name and ".jsonl" in name}
