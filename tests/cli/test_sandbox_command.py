from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.cli._errors import UsageError
from codex_actors.cli._sandbox_command import sandbox_command
from codex_actors.config import SettingsError
from codex_actors.sandbox import CouldNotStart, find_sandboxes

NAMES = [sandbox.name for sandbox in find_sandboxes()]
pytestmark = pytest.mark.skipif(not NAMES, reason="no sandbox works on this machine")


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without settings."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("CODEX_ACTORS_HOME", str(home))
    return home


@pytest.mark.parametrize("name", NAMES)
def test_the_status_and_the_output_are_the_command_s(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    words = ["-C", str(tmp_path), "--mechanism", name, "--"]

    assert 3 == sandbox_command([*words, "sh", "-c", "echo hi; echo x > f; exit 3"])
    assert 137 == sandbox_command([*words, "sh", "-c", "kill -9 $$"])
    assert "hi\n" == capfd.readouterr().out
    assert [] == list(tmp_path.iterdir())


@pytest.mark.skipif(NAMES == ["landlock"], reason="nothing here can protect what is below a root")
def test_writing_the_workspace_and_another_folder(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    words = ["-s", "workspace-write", "-C", str(work), "--add-dir", str(other), "--"]

    assert 0 == sandbox_command([*words, "sh", "-c", "echo x > f; echo x > ../other/f"])
    assert [work / "f"] == list(work.iterdir())
    assert [other / "f"] == list(other.iterdir())


def test_full_access_needs_nothing(tmp_path: Path) -> None:
    words = ["-s", "danger-full-access", "-C", str(tmp_path), "--"]

    assert 0 == sandbox_command([*words, "touch", "f"])
    assert [tmp_path / "f"] == list(tmp_path.iterdir())


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CouldNotStart, match="does not exist"):
        sandbox_command(["-C", str(tmp_path), "--", "no-such-program"])


@pytest.mark.skipif(NAMES == ["landlock"], reason="nothing here can deny what is below a root")
def test_a_permission_profile(
    tmp_path: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text(
        """
        sandbox_mode = "read-only"
        [permissions.dev]
        extends = ":read-only"
        [permissions.dev.filesystem]
        ":new" = "read"
        ":workspace_roots" = {"." = "write", "*.env" = "deny"}
        """
    )
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.env").write_text("hush")

    status = sandbox_command(
        ["-P", "dev", "-C", str(work), "--", "sh", "-c", "echo x > f; cat a.env"]
    )

    out, err = capfd.readouterr()
    assert (1, "", True) == (status, out, (work / "f").exists())
    assert "is no place that is known here" in err
    assert "Permission denied" in err


def test_a_profile_says_it_all(home: Path) -> None:
    with pytest.raises(UsageError, match="--network cannot be used with --permission-profile"):
        sandbox_command(["-P", ":workspace", "--network", "--", "true"])
    with pytest.raises(SettingsError, match="there is no profile 'nobody'"):
        sandbox_command(["-P", "nobody", "-C", str(home), "--", "true"])


def test_the_command_sees_what_commands_of_agents_see(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text("shell_environment_policy.set = { ADDED = '1' }")
    monkeypatch.setenv("SOME_TOKEN", "hush")

    assert 0 == sandbox_command(["-s", "danger-full-access", "-C", str(tmp_path), "--", "env"])
    names = {line.partition("=")[0] for line in capfd.readouterr().out.splitlines()}
    assert {"PATH", "ADDED"} <= names
    assert "SOME_TOKEN" not in names
