"""The log file of `codex-actors exec`."""

from __future__ import annotations

import logging
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._errors import UsageError
from codex_actors.cli._log import BACKUPS, MAX_BYTES, LineFormatter, choose_level, open_log
from codex_actors.cli._log_redaction import Redactor
from codex_actors.protocol import ModelInfo, Provider, Settings

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) +\S+ \S+ codex_actors\S* "
)
logger = logging.getLogger("codex_actors.somewhere")


def settings(home: Path, *, ephemeral: bool = False) -> Settings:
    return Settings(
        model=ModelInfo(slug="m"),
        provider=Provider(id="p", bearer_token="very-secret"),
        cwd="/",
        home=str(home),
        ephemeral=ephemeral,
    )


def record(message: str, **extra: str) -> logging.LogRecord:
    made = logging.LogRecord("codex_actors.x", logging.INFO, __file__, 1, message, (), None)
    made.__dict__.update(extra)
    return made


def read(home: Path) -> list[str]:
    return (home / "log" / "codex-actors.log").read_text("utf-8").splitlines()


def test_lines_have_who_and_when(tmp_path: Path) -> None:
    with open_log("info", settings(tmp_path), {}):
        logger.info("%s is here", "x", extra={"thread_id": "t1", "turn_id": "u1"})
        logger.debug("too small to be told")

    [line] = read(tmp_path)
    assert LINE.match(line)
    assert line.endswith(" INFO    t1 u1 codex_actors.somewhere x is here")


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with open_log("info", settings(tmp_path), {}):
        pass

    assert 0o700 == stat.S_IMODE((tmp_path / "log").stat().st_mode)
    assert 0o600 == stat.S_IMODE((tmp_path / "log" / "codex-actors.log").stat().st_mode)


def test_secrets_stay_out_of_messages_and_tracebacks(tmp_path: Path) -> None:
    with open_log("info", settings(tmp_path), {"MY_TOKEN": "another-secret"}):
        try:
            raise ValueError("very-secret and another-secret")
        except ValueError:
            logger.exception("failed with %s", "very-secret")

    text = "\n".join(read(tmp_path))
    assert "ValueError: *** and ***" in text
    assert "secret" not in text.replace("test_secrets", "")


def test_afterwards_the_library_is_silent_again(tmp_path: Path) -> None:
    package = logging.getLogger("codex_actors")
    before = (package.level, list(package.handlers))
    with open_log("debug", settings(tmp_path), {}):
        pass

    assert before == (package.level, list(package.handlers))
    assert [logging.NullHandler] == [type(handler) for handler in package.handlers]


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    with open_log(None, settings(tmp_path), {}):
        logger.error("nobody reads this")

    assert [] == list(tmp_path.iterdir())


def test_files_are_rotated_and_all_private(tmp_path: Path) -> None:
    with open_log("info", settings(tmp_path), {}):
        for _ in range(BACKUPS + 2):
            for _ in range(11):
                logger.info("%s", "x" * (MAX_BYTES // 10))

    files = sorted((tmp_path / "log").iterdir())
    assert BACKUPS + 1 == len(files)
    assert {0o600} == {stat.S_IMODE(file.stat().st_mode) for file in files}
    assert max(file.stat().st_size for file in files) <= MAX_BYTES


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_stops_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "codex-actors.log").symlink_to("/dev/full")
    with open_log("info", settings(tmp_path), {}):
        logger.info("lost")

    assert ("", "") == capfd.readouterr()


@pytest.mark.parametrize(
    ("option", "variable", "level"),
    [
        (None, None, "off"),
        (None, "", "off"),
        (None, "INFO", "info"),
        ("error", "info", "error"),
        ("off", "debug", "off"),
    ],
)
def test_the_option_beats_the_variable(
    option: str | None, variable: str | None, level: str
) -> None:
    environ = {} if variable is None else {"CODEX_ACTORS_LOG": variable}

    assert level == choose_level(option, environ, ephemeral=False)


def test_a_level_that_is_none() -> None:
    with pytest.raises(UsageError, match="'loud' is no level"):
        choose_level(None, {"CODEX_ACTORS_LOG": "loud"}, ephemeral=False)


def test_an_ephemeral_run_writes_no_log() -> None:
    assert "off" == choose_level(None, {"CODEX_ACTORS_LOG": "info"}, ephemeral=True)
    with pytest.raises(UsageError, match="--ephemeral"):
        choose_level("info", {}, ephemeral=True)


@given(st.text())
def test_no_message_can_look_like_a_line_of_its_own(message: str) -> None:
    first, *others = LineFormatter(Redactor(frozenset())).format(record(message)).split("\n")

    assert LINE.match(first)
    assert all(line.startswith("    ") and line.isprintable() for line in others)
    assert first.isprintable()


def test_unknown_ids_are_dashes() -> None:
    assert " - - " in LineFormatter(Redactor(frozenset())).format(record("x", thread_id=""))
