from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_actors.approvals import RulesError, add_allow_rule, amended_file, load_rules
from codex_actors.core import spell_rule

LINE = 'prefix_rule(pattern=["git", "push"], decision="allow")\n'


async def test_a_rule_is_written_once(tmp_path: Path) -> None:
    path = Path(amended_file(str(tmp_path)))

    assert await add_allow_rule(str(tmp_path), ["git", "push"])
    assert not await add_allow_rule(str(tmp_path), ["git", "push"])
    assert path == tmp_path / "rules" / "default.rules"
    assert path.read_text() == LINE
    assert path.stat().st_mode & 0o777 == 0o600


async def test_what_was_there_stays(tmp_path: Path) -> None:
    path = Path(amended_file(str(tmp_path)))
    path.parent.mkdir()
    path.write_text("# mine")

    await add_allow_rule(str(tmp_path), ["git", "push"])

    assert path.read_text() == f"# mine\n{LINE}"


async def test_many_at_once(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(add_allow_rule, str(tmp_path), ["make", str(number % 10)])
    lines = Path(amended_file(str(tmp_path))).read_text().splitlines()

    assert sorted(lines) == [spell_rule(["make", str(number)]) for number in range(10)]


async def test_a_full_disk_takes_nothing(
    tmp_path: Path, limit_files: Callable[[int | None], None]
) -> None:
    path = Path(amended_file(str(tmp_path)))
    await add_allow_rule(str(tmp_path), ["git", "push"])
    limit_files(len(LINE) + 10)
    with pytest.raises(RulesError, match="was not added"):
        await add_allow_rule(str(tmp_path), ["make", "test"])
    limit_files(None)

    assert path.read_text() == LINE


async def test_a_lock_that_is_never_given_back(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    path = Path(amended_file(str(tmp_path)))
    path.parent.mkdir()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(RulesError, match="locked"):
        await add_allow_rule(str(tmp_path), ["make"])
    os.close(descriptor)

    assert await add_allow_rule(str(tmp_path), ["make"])


async def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("")

    with pytest.raises(RulesError, match="was not added"):
        await add_allow_rule(str(tmp_path), ["make"])


prefixes = st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=4)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(prefixes, min_size=20, max_size=50))
def test_what_is_written_is_what_is_read(tmp_path: Path, written: list[list[str]]) -> None:
    path = Path(amended_file(str(tmp_path)))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{spell_rule(prefix)}\n" for prefix in written), "utf-8", newline="\n")

    rules = trio.run(load_rules, [str(path.parent)])

    assert written == [[word for [word] in rule.pattern] for rule in rules.prefixes]


async def test_what_is_no_file_is_not_written_and_not_waited_for(tmp_path: Path) -> None:
    path = Path(amended_file(str(tmp_path)))
    path.parent.mkdir()
    os.mkfifo(path)

    with trio.fail_after(60), pytest.raises(RulesError, match="it is no file"):
        await add_allow_rule(str(tmp_path), ["git", "push"])
    with pytest.raises(RulesError, match="it is no file"):
        await load_rules([str(path.parent)])


async def test_what_is_no_words_is_not_written(tmp_path: Path) -> None:
    wrong: Any = ([1, 2], ["git", None], "git push", [])
    for prefix in wrong:
        with pytest.raises(ValueError, match="a rule"):
            await add_allow_rule(str(tmp_path), prefix)

    assert not Path(amended_file(str(tmp_path))).exists()
