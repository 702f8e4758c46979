from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

import attrs
import pytest
import trio

from codex_actors.sandbox import Sandbox
from tests.escapes.attempt import Attempt, User
from tests.escapes.corpus import CORPUS
from tests.escapes.mechanisms import NAMES, faults, users
from tests.escapes.running import Verdicts, make_attempts

_RAN: Final = pytest.StashKey[dict[tuple[str, User], Verdicts]]()


def attempts_of(user: User) -> tuple[Attempt, ...]:
    return tuple(attempt for attempt in CORPUS if user in attempt.users)


@final
@attrs.define(eq=False)
class Runs:
    """Makes all attempts once for each mechanism and user, when first asked."""

    _folder: Path
    _made: dict[tuple[str, User], Verdicts]

    def bare(self, user: User) -> Verdicts:
        return self._make("bare", user, None)

    def confined(self, sandbox: Sandbox, user: User) -> Verdicts:
        return self._make(sandbox.name, user, sandbox)

    def _make(self, name: str, user: User, sandbox: Sandbox | None) -> Verdicts:
        if (name, user) not in self._made:
            self._made[name, user] = trio.run(
                make_attempts, attempts_of(user), user, self._folder, sandbox
            )
        return self._made[name, user]


@pytest.fixture(scope="session")
def runs(pytestconfig: pytest.Config) -> Iterator[Runs]:
    # Not pytest's own folder: nobody else may look into that.
    folder = Path(tempfile.mkdtemp(prefix="escapes-"))
    folder.chmod(0o755)
    made = pytestconfig.stash.setdefault(_RAN, {})
    yield Runs(folder, made)
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
    for attempt in attempts_of(user):
        verdict = confined[attempt.number]
        if attempt.goal not in bare[attempt.number].signs:
            count["do not succeed bare here"] += 1
        elif verdict.refused is not None:
            count["not started, since the policy cannot be enforced"] += 1
        else:
            count["got out" if verdict.signs else "contained"] += 1
    return "; ".join(f"{number} {what}" for what, number in sorted(count.items()))
