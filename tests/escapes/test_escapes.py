"""No attempt to get out of a sandbox succeeds that succeeds without one."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import attrs
import pytest
import trio

from codex_actors.core import UNCONFINED, Reach
from codex_actors.sandbox import ProcessSpec, Sandbox
from tests.escapes.attempt import Attempt, User
from tests.escapes.conftest import Runs, cases
from tests.escapes.corpus import CORPUS, attempts_of
from tests.escapes.exceptions import EXCEPTIONS, MOST
from tests.escapes.mechanisms import NAMES, faults, sandboxes, users
from tests.escapes.running import make_attempt

pytestmark = pytest.mark.skipif(
    os.uname().sysname != "Linux", reason="the attempts are made of what Linux has"
)

EXEMPT = {(exemption.mechanism, exemption.number) for exemption in EXCEPTIONS}
PAGE = Path(__file__).parents[2] / "docs/explanation/security.md"


def test_it_succeeds_bare(runs: Runs, user: User, attempt: Attempt) -> None:
    """Or else it would prove nothing that it fails in a sandbox."""
    verdict = runs.bare(user)[attempt.number]

    assert verdict.started, verdict.describe()
    if attempt.goal not in verdict.signs and attempt.needs is not None:
        pytest.skip(f"this machine lacks {attempt.needs}")
    assert attempt.goal in verdict.signs, verdict.describe()


@pytest.mark.parametrize("mechanism", NAMES)
def test_it_does_not_get_out(runs: Runs, mechanism: str, user: User, attempt: Attempt) -> None:
    if mechanism not in sandboxes():
        pytest.skip(f"{mechanism}: {faults().get(mechanism, 'it is not for this system')}")
    verdict = runs.confined(sandboxes()[mechanism], user)[attempt.number]
    if verdict.refused is not None:
        assert not verdict.started
        return
    assert verdict.started, verdict.describe()
    if (mechanism, attempt.number) in EXEMPT:
        return

    assert frozenset() == verdict.signs, verdict.describe()


def test_some_mechanism_enforces_every_policy(runs: Runs, pytestconfig: pytest.Config) -> None:
    """An attempt that is never started is no proof, so one of them has to start it."""
    if not {"bubblewrap", "namespaces"} & set(sandboxes()):
        pytest.skip(f"no mechanism here has namespaces: {faults()}")
    for user in users():
        started = {
            number
            for sandbox in sandboxes().values()
            for number, verdict in runs.confined(sandbox, user).items()
            if verdict.started
        }

        wanted = {attempt.number for who, attempt in cases(pytestconfig) if who == user}
        assert wanted == started


@attrs.frozen
class Sieve:
    """A sandbox that confines nothing."""

    name: str = "sieve"

    def confine(self, spec: ProcessSpec, reach: Reach) -> ProcessSpec:
        assert reach != UNCONFINED
        return spec


@pytest.mark.parametrize("goal", sorted({attempt.goal for attempt in CORPUS} - {"left", "overrun"}))
def test_a_sandbox_with_holes_is_found_out(tmp_path: Path, goal: str) -> None:
    """What lives on is ended by its owner all the same, so those goals are not reached."""
    user = users()[0]
    attempt = next(a for a in attempts_of(user, every=True) if a.goal == goal and a.needs is None)
    sieve: Sandbox = Sieve()

    assert goal in trio.run(make_attempt, attempt, user, tmp_path, sieve).signs


def test_there_are_many_attempts_and_each_has_a_number_of_its_own() -> None:
    assert len(CORPUS) >= 80
    assert [] == [n for n, count in Counter(a.number for a in CORPUS).items() if count > 1]
    assert [] == [n for n, count in Counter(a.name for a in CORPUS).items() if count > 1]


def test_exceptions_are_few_and_the_page_shows_each() -> None:
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (\w+) \| (\d+) (.+?) \| (.+?) \|$", page, re.MULTILINE)
    names = {attempt.number: attempt.name for attempt in CORPUS}

    assert all(count <= MOST for count in Counter(e.mechanism for e in EXCEPTIONS).values())
    assert [(e.mechanism, str(e.number), names[e.number], e.reason) for e in EXCEPTIONS] == rows


def test_the_page_says_how_many_attempts_there_are() -> None:
    page = PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| ([a-z, -]+) \| (\d+) \|$", page, re.MULTILINE))

    assert f"{len(CORPUS)} attempts" in page
    assert Counter(a.breaks for a in CORPUS) == {name: int(count) for name, count in rows.items()}
