"""Completion, as a real bash does it with the script."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from codex_actors.cli._commands import COMMANDS, program_parser
from codex_actors.cli._completion import SHELLS, completion_command
from codex_actors.cli._completion_scripts import bash_script
from codex_actors.cli._completion_words import Flag, Words, read_words

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_codex_actors
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    COMMANDS["completion"].run(["bash"])
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out, "utf-8")
    return path


def complete(script: Path, *words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", script, "codex-actors", *words],
        cwd=script.parent,
        capture_output=True,
        check=True,
        text=True,
    )
    assert "" == done.stderr
    return [line for line in done.stdout.splitlines() if line]


def test_commands(script: Path) -> None:
    assert set(COMMANDS) <= set(complete(script, ""))
    assert ["doctor"] == complete(script, "do")
    assert ["--version"] == complete(script, "--v")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command(script: Path, name: str) -> None:
    options = {option for a in COMMANDS[name].parser()._actions for option in a.option_strings}

    assert options == {word for word in complete(script, name, "-") if word.startswith("-")}


@pytest.mark.parametrize(
    ("words", "replies"),
    [
        (("exec", "--eph"), ["--ephemeral"]),
        (("exec", "--color", "a"), ["always", "auto"]),
        (("exec", "--color", "=", "n"), ["never"]),
        (("exec", "--color", "="), ["always", "never", "auto"]),
        (("exec", "-s", "w"), ["workspace-write"]),
        (("exec", "--json", "--log-level", "de"), ["debug"]),
        (("exec", "-m", ""), []),
        (("exec", "-c", "s"), []),
        (("exec", "re"), ["resume"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("completion", "z"), ["zsh"]),
        (("nothing", ""), []),
    ],
)
def test_words(script: Path, words: tuple[str, ...], replies: list[str]) -> None:
    found = complete(script, *words)

    if not words[-1].startswith("-"):
        found = [word for word in found if not word.startswith("-")]
    assert replies == found


def test_files_and_directories(script: Path) -> None:
    for name in ("a picture.png", "a*.png", "script"):
        (script.parent / name).touch()
    (script.parent / "a folder").mkdir()

    assert ["a folder", "a picture.png", "a*.png"] == sorted(complete(script, "exec", "-i", "a"))
    assert ["a folder"] == complete(script, "exec", "--cd", "a")
    assert ["script"] == complete(script, "exec", "-o", "sc")


def test_what_a_parser_says() -> None:
    parser = argparse.ArgumentParser(description="It does.", add_help=False)
    parser.add_argument("-f", "--file", metavar="FILE", action="append", help="a file")
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    parser.add_argument("word", choices=("one", "two"))

    assert Words(
        name="it",
        help="It does.",
        flags=(Flag(names=("-f", "--file"), help="a file", takes="file", repeats=True),),
        words=("more", "one", "two"),
    ) == read_words("it", parser, "more")


def test_quotes_in_words_do_no_harm(tmp_path: Path) -> None:
    flag = Flag(names=("--x",), help="it's [a] $(trap)", takes="word", choices=("it's", "$(x)"))
    program, command = Words(name="", help="", flags=()), Words(name="go", help="", flags=(flag,))
    path = tmp_path / "script"
    path.write_text(bash_script(program, [command]), "utf-8")

    assert ["go"] == complete(path, "")
    assert ["--x"] == complete(path, "go", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shells_take_the_scripts(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    completion_command([shell], program_parser(), {n: c.parser() for n, c in COMMANDS.items()})
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out, "utf-8")

    subprocess.run([shell, "-n", path], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_has_every_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    parsers = {name: command.parser() for name, command in COMMANDS.items()}
    assert 0 == completion_command([shell], program_parser(), parsers)

    script = capsys.readouterr().out
    longs = [
        o for p in parsers.values() for a in p._actions for o in a.option_strings if o[1] == "-"
    ]
    dashes = "" if shell == "fish" else "--"
    assert [] == [option for option in longs if f"{dashes}{option[2:]}" not in script]


def test_a_shell_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        completion_command(["tcsh"], program_parser(), {})

    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
