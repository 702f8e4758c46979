from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codex_actors.approvals import RulesError
from codex_actors.cli._execpolicy_command import execpolicy_command, split_command

RULES = """
prefix_rule(["git", ["status", "log"]])
prefix_rule(["git"], decision = "prompt", justification = "why")
prefix_rule(["ls"])
prefix_rule(["rm"], decision = "forbidden")
"""
CODEX = os.environ.get("CODEX", "")
COMMANDS = [
    ["git", "status"], ["git", "push", "-v"], ["ls"], ["rm", "-rf", "x"], ["make"], ["/bin/rm"],
]  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_ACTORS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.rules").write_text(RULES)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert execpolicy_command(["check", *argv]) == 0
    return capsys.readouterr().out


def check(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    return json.loads(printed(capsys, *argv))


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    expected = (
        '{"matchedRules":['
        '{"prefixRuleMatch":{"matchedPrefix":["git","status"],"decision":"allow"}},'
        '{"prefixRuleMatch":{"matchedPrefix":["git"],"decision":"prompt","justification":"why"}}'
        '],"decision":"prompt"}\n'
    )

    assert expected == printed(capsys, "--rules", "a.rules", "--", "git", "status")
    assert expected == printed(capsys, "-r", "a.rules", "git", "status")
    pretty = printed(capsys, "--pretty", "--rules=a.rules", "--", "git", "status")
    assert pretty == json.dumps(json.loads(expected), indent=2) + "\n"
    assert check(capsys, "-r", "a.rules", "make", "--pretty") == {"matchedRules": []}


def test_scripts_are_seen_through(capsys: pytest.CaptureFixture[str]) -> None:
    def decision(script: str) -> str | None:
        found: dict[str, str] = check(capsys, "-r", "a.rules", "--", "bash", "-lc", script)
        return found.get("decision")

    assert decision("ls && git status | ls") == "prompt"
    assert decision("ls; rm x") == "forbidden"
    assert decision("ls; ls -la") == "allow"
    assert decision("ls; make") is None
    assert decision("ls > x") is None


def test_paths(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["-r", "a.rules", "--", "/bin/rm", "x"]

    assert check(capsys, *argv) == {"matchedRules": []}
    [match] = check(capsys, "--resolve-host-executables", *argv)["matchedRules"]
    assert match["prefixRuleMatch"]["resolvedProgram"] == "/bin/rm"


def test_the_rules_that_hold_here(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    project = home / "project"
    for place, rule in (
        (home, "prefix_rule(['ls'])"),
        (project / ".codex", "prefix_rule(['make'])"),
    ):
        (place / "rules").mkdir(parents=True)
        (place / "rules" / "a.rules").write_text(rule)

    def decision(word: str) -> str | None:
        found: dict[str, str] = check(capsys, "-C", str(project), "--", word)
        return found.get("decision")

    assert (decision("ls"), decision("make")) == ("allow", None)
    (home / "config.toml").write_text(f'[projects."{project}"]\ntrust_level = "trusted"\n')
    assert (decision("ls"), decision("make")) == ("allow", "allow")


def test_bad_rules(home: Path) -> None:
    (home / "a.rules").write_text("prefix_rule(")

    with pytest.raises(RulesError, match=r"a\.rules:1"):
        execpolicy_command(["check", "-r", "a.rules", "ls"])


@pytest.mark.parametrize("argv", [[], ["check"], ["check", "--"], ["check", "-r"], ["look", "ls"]])
def test_wrong_words(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        execpolicy_command(argv)

    assert caught.value.code == 2


def test_where_the_command_begins() -> None:
    assert split_command(["check", "git", "-r", "x"]) == (["check"], ["git", "-r", "x"])
    assert split_command(["check", "-r", "x", "--", "--", "y"]) == (
        ["check", "-r", "x"],
        ["--", "y"],
    )


@pytest.mark.skipif(not CODEX, reason="CODEX does not name a Codex binary")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_other_program_prints_the_same(
    words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["--pretty"], ["--resolve-host-executables"]):
        argv = [*options, "--rules", "a.rules", "--", *words]
        theirs = subprocess.run(
            [CODEX, "execpolicy", "check", *argv],
            env=os.environ | {"CODEX_HOME": str(home)},
            capture_output=True,
            check=True,
            text=True,
        )
        assert theirs.stdout.rstrip("\n") == printed(capsys, *argv).rstrip("\n")
