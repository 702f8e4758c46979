from __future__ import annotations

import stat
from pathlib import Path

import pytest

from codex_actors.config import SettingsError, find_home


def test_our_variable_comes_first(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    environ = {"CODEX_ACTORS_HOME": str(ours), "CODEX_HOME": str(theirs), "HOME": str(tmp_path)}

    assert str(ours) == find_home(environ)
    assert str(theirs) == find_home({**environ, "CODEX_ACTORS_HOME": ""})


def test_a_named_directory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="environment variable CODEX_HOME: there is no"):
        find_home({"CODEX_HOME": str(tmp_path / "none"), "HOME": str(tmp_path)})


def test_the_default_is_created_for_its_owner(tmp_path: Path) -> None:
    home = find_home({"HOME": str(tmp_path)})

    assert str(tmp_path / ".codex-actors") == home
    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
    assert home == find_home({"HOME": str(tmp_path)})


def test_a_default_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".codex-actors").write_text("")

    with pytest.raises(SettingsError, match="cannot be created"):
        find_home({"HOME": str(tmp_path)})


def test_without_any_variable_there_is_no_home() -> None:
    with pytest.raises(SettingsError, match="neither HOME nor CODEX_ACTORS_HOME"):
        find_home({})
