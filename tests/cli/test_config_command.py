from __future__ import annotations

import json
from pathlib import Path

import pytest

from codex_actors.cli._config_command import as_text, config_command
from codex_actors.cli._errors import UsageError
from codex_actors.config import Entry, Explained, SettingsError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_ACTORS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text_is_aligned_and_harmless() -> None:
    explained = Explained(
        (Entry("key", None, "nobody"),),
        (Entry("a", "x" * 99, "f:1"), Entry("long", [1, "\x1b"], "-c")),
        ("be careful",),
    )

    assert list(as_text(explained)) == [
        f"key   {'-':<60}  nobody",
        "",
        'a     "' + "x" * 56 + "...  f:1",
        "long  " + '[1, "\\u001b"]'.ljust(60) + "  -c",
        "",
        "warning: be careful",
    ]


def test_the_options_of_exec_count(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text("model = 'a'\nmodle = 1979-05-27\n")

    assert config_command(["show", "-s", "read-only", "-c", "model=b", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    settings = {entry["key"]: (entry["value"], entry["source"]) for entry in shown["settings"]}

    assert settings["model"] == ("b", "-c")
    assert settings["sandbox_mode"] == ("read-only", "command line")
    assert settings["modle"] == ("1979-05-27", f"{home}/config.toml:2")
    assert shown["warnings"] == [f"{home}/config.toml:2: modle: unknown key; did you mean 'model'?"]
    assert [fact["key"] for fact in shown["facts"]][:2] == ["home directory", "working directory"]


def test_text_is_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert config_command(["show", "--ignore-user-config"]) == 0

    first = capsys.readouterr().out.splitlines()[0].split()
    assert first == [
        "home", "directory", f'"{home}"', "environment", "variable", "CODEX_ACTORS_HOME",
    ]  # fmt: skip


def test_being_strict(home: Path) -> None:
    (home / "config.toml").write_text("modle = 'a'\n")

    with pytest.raises(SettingsError, match=r"config\.toml:1: modle: unknown key"):
        config_command(["show", "--strict-config"])


def test_there_is_nothing_else_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        config_command(["set"])

    assert caught.value.code == 2
    assert "invalid choice: 'set'" in capsys.readouterr().err


def test_a_working_directory_that_was_deleted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    for words in (["show"], ["show", "-C", "below"]):
        with pytest.raises(UsageError, match="the working directory has been deleted; change to"):
            config_command(words)
    assert config_command(["show", "-C", str(home)]) == 0
