"""What we take a script for, and what a real bash makes of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codex_actors.approvals import parse_script
from codex_actors.core import TakenApart, Words, is_dangerous, take_apart
from codex_actors.core._shell_tree import MOST_BYTES, RESERVED

BASH = shutil.which("bash")

# Every name of a program leads to the handler, which tells the words that it got.
PREFACE = """
exec 9>&1
command_not_found_handle() { printf '%s\\0' "$#" "$@" >&9; [[ $STATUS = 0 ]]; }
for name in $(compgen -b); do [ "$name" = printf ] || names="$names $name"; done
enable -n $names
"""
PIECES = [
    *"ab1 \t\n'\"\\$`!*?[]{}()<>|&;#~=%^-_,.:@+é\r\x0b\xa0\u3000\x85",
    *(" ", "a", "b", " ", "'a b'", '"a b"', "''", '""', "\\ ", "\\\n", "$'a'", '$"a"', "a=", "a~1"),
    *(
        "&&",
        "||",
        " && ",
        " || ",
        " | ",
        "; ",
        "|&",
        ";;",
        "<<",
        "time ",
        "if ",
        "then",
        "! ",
        " #",
    ),
    *(
        "{a,b}",
        "~",
        "~a",
        "$a",
        "\\$",
        '"\\$a"',
        '"a\\\nb"',
        "'\n'",
        '"\n"',
        "a\\'b",
        "2>&1",
        "f()",
    ),
]


def taken(script: str, shell: str = "bash") -> TakenApart:
    return take_apart([shell, "-lc", script], parse_script)


def parts(script: str, shell: str = "bash") -> tuple[Words, ...] | None:
    found = taken(script, shell)
    return None if found.is_opaque else found.parts


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with files that patterns would find."""
    place = tmp_path_factory.mktemp("place")
    for name in ("a", "b", "ab", "1", "-"):
        (place / name).touch()
    preface = place.parent / "preface"
    preface.write_text(PREFACE)
    before = sorted(os.listdir(place))
    yield place
    assert before == sorted(os.listdir(place))


def run_bash(script: str, place: Path, status: int) -> list[Words]:
    """The commands that bash runs, if all of them end with this status."""
    env = {
        "BASH_ENV": str(place.parent / "preface"),
        "STATUS": str(status),
        "PATH": "/nowhere",
        "HOME": "/home/somebody",
        "LC_ALL": "C.UTF-8",
    }
    assert BASH
    done = subprocess.run(
        [BASH, "-c", script],
        cwd=place,
        env=env,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    assert b"" == done.stderr
    words = done.stdout.decode().split("\0")[:-1]
    commands = []
    while words:
        count = int(words[0])
        commands.append(tuple(words[1 : count + 1]))
        del words[: count + 1]
    return commands


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("a && b || a1; b | ab\nb")
@example("a\u3000b")
@example("''%")
@example("'%1' a")
@example("a \xa0b")
@example("a\\ b '' \"\" 'a'\"b\"c")
def test_bash_runs_what_we_read_and_nothing_else(place: Path, script: str) -> None:
    read = parts(script)
    if read is None:
        return
    if any("\n" in word for words in read for word in words) and "|" in script.replace("||", ""):
        # The commands of a pipe run at once, and bash writes line by line: they would be mixed up.
        return
    # After "&&" only what succeeds goes on, after "||" only what fails: both runs see all.
    runs = [Counter(run_bash(script, place, status)) for status in (0, 1)]

    assert all(run <= Counter(read) for run in runs)
    assert set(read) == set(runs[0]) | set(runs[1])


words = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1)


@given(words)
def test_quoting_round_trips(argv: list[str]) -> None:
    if argv[0] in RESERVED or "=" in argv[0] or argv[0].startswith(("%", "-", "+")):
        # A shell does not take it for the name of a program: it is another command in there.
        return
    quoted = shlex.join(argv)

    assert TakenApart((tuple(argv),)) == take_apart(["bash", "-lc", quoted], parse_script)
    assert TakenApart((tuple(argv),)) == take_apart(
        ["/bin/sh", "-c", shlex.join(["bash", "-c", quoted])], parse_script
    )


@pytest.mark.parametrize(
    ("script", "read"),
    [
        ("ls", [("ls",)]),
        ("  git status\n", [("git", "status")]),
        ("cd 'a b' && ls -la; pwd | wc -l || true", [
            ("cd", "a b"), ("ls", "-la"), ("pwd",), ("wc", "-l"), ("true",),
        ]),
        ("git diff HEAD~1 'HEAD^'", [("git", "diff", "HEAD~1", "HEAD^")]),
        ('echo "a\\"b\\$c" d\\ e', [("echo", 'a"b$c', "d e")]),
        ("a &&\n b |\n c", [("a",), ("b",), ("c",)]),
        ("bash -c 'ls; pwd' && id", [("ls",), ("pwd",), ("id",)]),
    ],
)  # fmt: skip
def test_plain_commands_are_taken_apart(script: str, read: list[Words]) -> None:
    assert tuple(read) == parts(script)


@pytest.mark.parametrize(
    "script",
    [
        "", " ", "# ls", "ls # x", "ls > x", "ls 2>&1", "cat < x", "cat <<E\nx\nE", "cat <<< x",
        "ls &", "ls & ls", "ls |& wc", "(ls)", "{ ls; }", "! ls", "$(ls)", "`ls`", "echo $(ls)",
        "echo `ls`", 'echo "$(ls)"', "echo $x", 'echo "$x"', "echo ${x}", "x=1", "x=1 ls", "x+=1",
        "export x=1", "if ls; then ls; fi", "for x in a; do ls; done", "while ls; do ls; done",
        "case a in a) ls;; esac", "f() { ls; }", "function f { ls; }", "[[ a ]]", "[ a ]", "((1))",
        "time ls", "coproc ls", "ls *", "ls ?", "ls [a]", "ls {a,b}", "ls ~", "ls ~root", "ls a=~",
        "echo $'a'", 'echo $"a"', "echo 'a", 'echo "a', "echo a\\", "echo a\\\nb", 'echo "a\\\nb"',
        "ls\0", "ls \udc80", "ls &&", "&& ls", "ls ;; ls", "ls\r", "ls\x0bls", "ls\xa0ls x\xa0y",
        "<(ls)", "diff <(ls) <(ls)", "%1", "''%1", "'%1'", "a() ls", "ls;;", "echo !!", "echo a!b", "select", "- ls", "-x", "+", "-c",
        'echo "`ls`"', "eval 'ls' > x", "bash -c 'ls > x'", "select x in a; do ls; done",
    ],
)  # fmt: skip
def test_anything_else_is_opaque(script: str) -> None:
    assert taken(script).is_opaque
    assert len(taken(script).parts) == 1


@pytest.mark.parametrize("script", ["=ls", "ls =ls", "ls ^a", "ls HEAD~1"])
def test_zsh_finds_more_to_replace(script: str) -> None:
    assert parts(script, "zsh") is None
    assert parts("ls -la '=a'", "zsh") == (("ls", "-la", "=a"),)


def test_what_would_take_long_is_opaque() -> None:
    nested = ["ls"]
    for _ in range(10):
        nested = ["bash", "-c", shlex.join(nested)]

    found = take_apart(nested, parse_script)
    assert (True, True, True) == (found.is_opaque, found.is_too_deep, is_dangerous(found))
    assert TakenApart((("ls",),)) == take_apart(shlex.split(nested[2]), parse_script)
    assert not taken("ls > x").is_too_deep
    assert taken("ls " + "a" * MOST_BYTES).is_opaque
    assert taken(" && ".join(["ls"] * 1000)).is_opaque
    assert taken("(" * 10_000).is_opaque


@pytest.mark.parametrize(
    "argv",
    [
        ["./bash", "-lc", "ls"],
        ["/tmp/sh", "-c", "ls"],
        ["fish", "-c", "ls"],
        ["bashful", "-c", "ls"],
    ],
)
def test_what_only_looks_like_a_shell_is_not_seen_through(argv: list[str]) -> None:
    assert TakenApart((tuple(argv),)) == take_apart(argv, parse_script)


def test_shells_may_be_named() -> None:
    argv = ["/opt/bin/zsh", "-lc", "ls"]

    assert TakenApart((("ls",),)) == take_apart(argv, parse_script, shells=["/opt/bin/zsh"])
    assert take_apart(["bash", "script"], parse_script).is_opaque
    assert take_apart(["bash", "-c", "ls", "x"], parse_script).is_opaque
