"""Roles in files of their own, in the home directory and in the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.config import Loaded, Sources, explain_settings, load_settings
from codex_actors.protocol import Role

ENVIRON = {"OPENAI_API_KEY": "k", "HOME": "/home/u"}
FREE = 'sandbox_mode = "danger-full-access"\n'


def write(path: Path, name: str, **more: str) -> None:
    """Write a role's file; a value that is empty is left out."""
    values = {"name": name, "description": f"Is {name}.", "developer_instructions": "Go.", **more}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {value!r}" for key, value in values.items() if value]
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.git").mkdir(parents=True)
    return tmp_path / "project"


def load(
    home: Path, toml: str = "", cwd: Path | None = None, overrides: tuple[str, ...] = ()
) -> Loaded:
    (home / "config.toml").write_text(f'model = "mock-model"\n{toml}')
    return load_settings(home=str(home), environ=ENVIRON, cwd=str(cwd or "/w"), overrides=overrides)


def told(loaded: Loaded) -> dict[str, str]:
    """Descriptions by role."""
    return {name: r.description for name, r in loaded.settings.collaboration.roles.items()}


def test_files_below_the_home_directory_are_roles(tmp_path: Path) -> None:
    write(tmp_path / "agents/a.toml", "critic", model_reasoning_effort="low")
    write(tmp_path / "agents/sub/deep/b.toml", " nested ")
    write(tmp_path / "agents/c.txt", "text")

    loaded = load(tmp_path)
    assert () == loaded.warnings
    assert {
        "critic": Role(name="critic", description="Is critic.", instructions="Go.", effort="low"),
        "nested": Role(name="nested", description="Is  nested .", instructions="Go."),
    } == loaded.settings.collaboration.roles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", ": not valid TOML"),
        ("name = 'x'\ndescription = 'y'", ": developer_instructions: is missing"),
        ("description = 'y'\ndeveloper_instructions = 'z'", ": name: is missing"),
        ("name = 'x'\ndeveloper_instructions = 'z'", ": description: is missing"),
        ("name = 'x'\ndescription = ' '", ":2: description: expected a string that is not empty"),
        ("{good}\nmodl = 'x'", ":4: modl: unknown key; did you mean 'model'?"),
        ("{good}\nmodel_reasoning_effort = 3", ":4: model_reasoning_effort: expected a string"),
        ("{good}\nnickname_candidates = []", ":4: nickname_candidates: say at least one name"),
    ],
)
def test_a_bad_file_is_a_warning_that_names_it(text: str, words: str, tmp_path: Path) -> None:
    good = "name = 'bad'\ndescription = 'y'\ndeveloper_instructions = 'z'"
    write(tmp_path / "agents/good.toml", "good")
    bad = tmp_path / "agents/bad.toml"
    bad.write_text(text.format(good=good))

    loaded = load(tmp_path)
    [warning] = loaded.warnings
    assert warning.startswith(f"{bad}{words}")
    assert warning.endswith("; the role is left out")
    assert {"good": "Is good."} == told(loaded)
    sources = Sources(home=str(tmp_path), cwd="/w")
    assert warning in explain_settings(sources, ENVIRON).warnings


def test_of_two_with_one_name_the_first_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "agents/a.toml", tmp_path / "agents/b.toml"
    write(first, "dup", description="First.")
    write(second, "dup", description="Second.")

    loaded = load(tmp_path)
    assert {"dup": "First."} == told(loaded)
    assert (f"{second}: the role 'dup' is in {first} already",) == loaded.warnings


def test_a_table_comes_before_a_file_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path / "agents/a.toml", "a")

    loaded = load(tmp_path, "[agents.a]\ndescription = 'Of the table.'")
    assert {"a": "Of the table."} == told(loaded)
    assert (f"{tmp_path}/agents/a.toml: the role 'a' is in [agents.a] already",) == loaded.warnings


def test_a_file_that_a_table_names_is_read_once_and_has_the_last_word(tmp_path: Path) -> None:
    write(tmp_path / "agents/a.toml", "other")

    loaded = load(tmp_path, "[agents.a]\ndescription = 'x'\nconfig_file = 'agents/a.toml'")
    assert ((), {"other": "Is other."}) == (loaded.warnings, told(loaded))


def test_the_innermost_directory_of_the_project_counts_most(tmp_path: Path, project: Path) -> None:
    cwd = project / "sub/deep"
    cwd.mkdir(parents=True)
    write(tmp_path / "agents/a.toml", "a")
    write(project / ".codex/agents/top.toml", "top")
    write(project / ".codex/agents/both.toml", "both", description="Outer.")
    write(project / "sub/.codex/agents/both.toml", "both", description="Inner.")
    write(project / ".codex/agents/t.toml", "t", description="Of the project.")
    table = "[agents.t]\ndescription = 'Of the table.'\n[agents.s]\ndescription = 'Mine.'"
    write(project / ".codex/agents/s.toml", "s", description="Of the project.")

    loaded = load(tmp_path, FREE + table, cwd, ("agents.s.description=Said.",))
    assert {
        "a": "Is a.",
        "top": "Is top.",
        "both": "Inner.",
        "t": "Of the project.",
        "s": "Said.",
    } == told(loaded)
    assert () == loaded.warnings


@pytest.mark.parametrize(
    ("sandbox", "trust", "heeded"),
    [
        (FREE, "", True),
        ('sandbox_mode = "workspace-write"\n', "", True),
        ('sandbox_mode = "read-only"\n', "", False),
        ("", "", False),
        ("", "trusted", True),
        (FREE, "untrusted", False),
    ],
)
def test_a_project_must_be_trusted(
    sandbox: str, trust: str, heeded: bool, tmp_path: Path, project: Path
) -> None:
    write(project / ".codex/agents/a.toml", "a")
    level = f'[projects."{project}"]\ntrust_level = "{trust}"' if trust else ""

    assert heeded is ("a" in told(load(tmp_path, sandbox + level, project)))
