from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio
import trio._core._run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--schedules", type=int, default=1)


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
