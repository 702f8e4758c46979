"""What earlier commands of a script can do to later ones, asked of real shells."""

from __future__ import annotations

import shlex
import subprocess
from itertools import product
from pathlib import Path

import attrs
import pytest

from codex_actors.approvals import ExecPolicy
from codex_actors.core import ExecRules, PrefixRule, Situation
from codex_actors.core._shell_state import _CHANGES, _MOVES
from codex_actors.core._shell_tree import RESERVED
from codex_actors.protocol import DangerFullAccess, WorkspaceWrite
from tests.approvals.shells import find_shells

# Each was looked at: whatever words it gets, it leaves names and directory as they are.
HARMLESS = {
    *(":", "bg", "break", "caller", "continue", "disown", "echo", "echotc", "echoti", "false"),
    *("fg", "help", "jobs", "kill", "pwd", "suspend", "times", "true", "type", "ulimit", "umask"),
    *("whence", "where", "which"),
}
LISTS = {"bash": "compgen -b", "zsh": "print -l ${(k)builtins}"}
MEDDLERS = [
    *("'export' PATH=evil", "'declare' PATH=evil", "'typeset' PATH=evil", "'readonly' PATH=evil"),
    *("'read' PATH", "printf -v PATH evil", "'unset' PATH", "hash -p evil/tool tool"),
    *("alias tool=evil/tool", "eval 'tool() { evil/tool; }'", "eval PATH=evil", ". ./lib"),
    *("source ./lib", "mapfile -t PATH", "set -k", "cd evil", "pushd evil", "chdir evil"),
    *("test -v 'x[PATH=5]'", "let PATH=5", "getopts evil PATH", "command cd evil"),
    *("builtin eval PATH=evil", "hash tool=evil/tool", "'trap' 'evil/tool' DEBUG"),
    *("path+=evil", "'float' PATH=5", "'integer' PATH=5", "test PATH=5 -eq 5"),
]
TOOLS = ["tool", "./tool"]
JOINED = ["{} && {}", "{}; {}", "{}\n{}", "{} || {}", "{} ; echo x; {}"]
RECORDER = '#!/bin/sh\ncase $0 in /*) echo "$0" ;; *) echo "$PWD/$0" ;; esac >>"$RECORD"\n'

SITUATIONS = [
    Situation(approval_policy="untrusted", sandbox_policy=WorkspaceWrite()),
    Situation(approval_policy="on-request", sandbox_policy=WorkspaceWrite(), escalates=True),
    Situation(approval_policy="untrusted", sandbox_policy=DangerFullAccess()),
]


@pytest.mark.parametrize("shell", find_shells(*LISTS))
def test_every_command_of_the_shells_own_is_judged(shell: str) -> None:
    listed = subprocess.run(
        [f"/bin/{shell}", "-c", LISTS[shell]], capture_output=True, text=True, check=True
    )

    assert set() == set(listed.stdout.split()) - _CHANGES - _MOVES - HARMLESS
    assert set() == HARMLESS & (_CHANGES | _MOVES)


def allow(*programs: str) -> ExecPolicy:
    return ExecPolicy(
        rules=ExecRules(prefixes=tuple(PrefixRule(pattern=((name,),)) for name in programs))
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the right program, in which lies one with the wrong ones."""
    for folder in ("good", "work", "work/evil"):
        (tmp_path / folder).mkdir()
    for path in ("good/tool", "work/tool", "work/evil/tool"):
        (tmp_path / path).write_text(RECORDER)
        (tmp_path / path).chmod(0o755)
    (tmp_path / "work/lib").write_text("PATH=evil\n")
    return tmp_path


def run(shell: str, script: str, place: Path) -> set[str]:
    """The programs that ran, as paths below the place."""
    record = place / "record"
    record.write_text("")
    subprocess.run(
        [f"/bin/{shell}", "-c", script],
        cwd=place / "work",
        env={"PATH": str(place / "good"), "RECORD": str(record), "LC_ALL": "C.UTF-8"},
        input=b"evil\n",
        capture_output=True,
        timeout=60,
    )
    ran = (Path(line).resolve() for line in record.read_text().splitlines())
    return {str(path.relative_to(place.resolve())) for path in ran}


@pytest.mark.parametrize("shell", find_shells("bash", "dash", "zsh"))
def test_no_rule_allows_what_an_earlier_command_put_there(shell: str, place: Path) -> None:
    meddled = 0
    for meddler, tool, joined in product(MEDDLERS, TOOLS, JOINED[: 1 if shell != "bash" else None]):
        script = joined.format(meddler, tool)
        argv = ["sh" if shell == "dash" else shell, "-c", script]
        policy = allow(*TOOLS, "echo", shlex.split(meddler)[0])
        ran = run(shell, script, place)
        if ran - {"good/tool", "work/tool"}:
            meddled += 1
            for situation in SITUATIONS:
                assert not policy.judge(argv, situation).bypasses_sandbox, script
    assert meddled > 3


def test_what_comes_before_is_not_in_doubt() -> None:
    policy = allow("tool", "export", "./tool", "cd")
    situation = SITUATIONS[0]

    def bypasses(script: str) -> bool:
        return policy.judge(["bash", "-c", script], situation).bypasses_sandbox

    assert bypasses("tool && 'export' A=b")
    assert not bypasses("'export' A=b && tool")
    assert bypasses("cd a && tool")
    assert not bypasses("cd a && ./tool")
    assert bypasses("./tool && cd a")
    assert not bypasses("bash -c \"'export' A=b\" && tool")


def test_a_directory_of_the_models_choice_is_in_doubt_as_after_cd() -> None:
    policy = allow("tool", "./tool", "/bin/tool", "git", "cd")
    asked = SITUATIONS[0]
    elsewhere = attrs.evolve(asked, is_elsewhere=True)

    for script in ("tool", "/bin/tool"):
        assert policy.judge(["bash", "-c", script], elsewhere).bypasses_sandbox
    for script in ("./tool", "git status", "/usr/bin/git status", "tool && git status"):
        assert policy.judge(["bash", "-c", script], asked).bypasses_sandbox
        assert not policy.judge(["bash", "-c", script], elsewhere).bypasses_sandbox
        assert not policy.judge(["bash", "-c", f"cd a && {script}"], asked).bypasses_sandbox
    assert "allow" == policy.judge(["bash", "-c", "ls"], elsewhere).decision
    assert "prompt" == policy.judge(["bash", "-c", "git status"], elsewhere).decision


def test_what_forbids_holds_whatever_came_before() -> None:
    rules = ExecRules(prefixes=(PrefixRule(pattern=(("tool",),), decision="forbidden"),))

    for meddler in ("'export' A=b", "cd a", "eval x"):
        verdict = ExecPolicy(rules=rules).judge(["bash", "-c", f"{meddler}; tool"], SITUATIONS[1])
        assert "forbidden" == verdict.decision


def test_words_that_the_shell_keeps_are_no_names() -> None:
    assert {"float", "integer"} <= RESERVED
