from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs
import pytest
import trio

from codex_actors.sandbox import Sandbox
from tests.escapes.attempt import Attempt, User
from tests.escapes.corpus import attempts_of
from tests.escapes.mechanisms import NAMES, faults, users
from tests.escapes.running import Verdicts, make_attempts

_RAN: Final = pytest.StashKey[dict[tuple[str, User], Verdicts]]()


def cases(config: pytest.Config) -> list[tuple[User, Attempt]]:
    """Who makes which attempts in this run: whoever runs it all of them, others what matters."""
    soak = config.getoption("--soak")
    return [
        (user, attempt)
        for user in users()
        for attempt in attempts_of(user, every=soak or user == users()[0])
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attempt" in metafunc.fixturenames:
        metafunc.parametrize(("user", "attempt"), cases(metafunc.config), ids=str)


@final
@attrs.define(eq=False)
class Runs:
    """Makes the attempts of the tests that were selected, when first asked: all of a mechanism
    and a user at once."""

    _folder: Path
    _selected: Mapping[User, Sequence[Attempt]]
    _made: dict[tuple[str, User], Verdicts]

    def bare(self, user: User) -> Verdicts:
        return self._make("bare", user, None)

    def confined(self, sandbox: Sandbox, user: User) -> Verdicts:
        return self._make(sandbox.name, user, sandbox)

    def _make(self, name: str, user: User, sandbox: Sandbox | None) -> Verdicts:
        if (name, user) not in self._made:
            self._made[name, user] = trio.run(
                make_attempts, self._selected[user], user, self._folder, sandbox
            )
        return self._made[name, user]


def _select(session: pytest.Session) -> Mapping[User, Sequence[Attempt]]:
    """The attempts that tests were selected for; all, if one is about all of them."""
    chosen: dict[User, dict[int, Attempt]] = {user: {} for user in users()}
    for item in session.items:
        if "runs" not in getattr(item, "fixturenames", ()):
            continue
        params = getattr(getattr(item, "callspec", None), "params", {})
        about = (
            [(params["user"], params["attempt"])] if "attempt" in params else cases(session.config)
        )
        for user, attempt in about:
            chosen[user][attempt.number] = attempt
    return {user: tuple(found[n] for n in sorted(found)) for user, found in chosen.items()}


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    # Not pytest's own folder: nobody else may look into that.
    folder = Path(tempfile.mkdtemp(prefix="escapes-"))
    folder.chmod(0o755)
    made = request.config.stash.setdefault(_RAN, {})
    yield Runs(folder, _select(request.session), made)
    shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    made = config.stash.get(_RAN, {})
    if not made:
        return
    terminalreporter.section("attempts to escape")
    for name in NAMES:
        for user in users():
            if (name, user) in made and ("bare", user) in made:
                line = _sum_up(made[name, user], made["bare", user], user)
                terminalreporter.write_line(f"{name}, as {user}: {line}")
        if name in faults():
            terminalreporter.write_line(f"{name}: not tested: {faults()[name]}")


def _sum_up(confined: Verdicts, bare: Verdicts, user: User) -> str:
    count = Counter[str]()
    for attempt in attempts_of(user, every=True):
        verdict = confined.get(attempt.number)
        if verdict is None:
            continue
        if attempt.goal not in bare[attempt.number].signs:
            count["do not succeed bare here"] += 1
        elif verdict.refused is not None:
            count["not started, since the policy cannot be enforced"] += 1
        else:
            count["got out" if verdict.signs else "contained"] += 1
    return "; ".join(f"{number} {what}" for what, number in sorted(count.items()))
