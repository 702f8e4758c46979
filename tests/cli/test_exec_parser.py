from __future__ import annotations

import argparse
import re
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors._version import __version__
from codex_actors.cli._commands import run_command
from codex_actors.cli._config_flags import ConfigFlags
from codex_actors.cli._exec_parser import ExecOptions, exec_parser, parse


def options(prompt: str | None = None, **fields: Any) -> ExecOptions:
    names = {field.name for field in attrs.fields(ConfigFlags)}
    config = ConfigFlags(**{name: fields.pop(name) for name in names & set(fields)})
    return ExecOptions(prompt=prompt, config=config, **fields)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["hi"], options("hi")),
        ([], options(None)),
        (["-"], options(None)),
        ([""], options("")),
        (["- first\n- second"], options("- first\n- second")),
        (["-m", "x", "hi"], options("hi", model="x")),
        (["hi", "--model=x"], options("hi", model="x")),
        (["-s", "read-only", "hi"], options("hi", sandbox="read-only")),
        (["--sandbox", "workspace-write"], options(sandbox="workspace-write")),
        (
            ["--dangerously-bypass-approvals-and-sandbox", "hi"],
            options("hi", sandbox="danger-full-access"),
        ),
        (["--yolo", "-s", "read-only"], options(sandbox="danger-full-access")),
        (["-C", "/w", "hi"], options("hi", directory="/w")),
        (["--cd", "/w"], options(directory="/w")),
        (["-c", "a=1", "hi", "--config", "b.c=x"], options("hi", overrides=("a=1", "b.c=x"))),
        (
            ["--disable", "b", "--enable", "a", "-c", "x=1"],
            options(overrides=("x=1", "features.a=true", "features.b=false")),
        ),
        (
            ["-i", "a.png,b.png", "--image", "c.png", "hi"],
            options("hi", images=("a.png", "b.png", "c.png")),
        ),
        (["-p", "work", "hi"], options("hi", profile="work")),
        (["--profile=work"], options(profile="work")),
        (["--oss", "hi"], options("hi", oss=True)),
        (["--local-provider", "ollama"], options(local_provider="ollama")),
        (
            ["--max-agents", "3", "--max-tokens=5000", "--max-seconds", "0.5"],
            options(overrides=("limits.agents=3", "limits.tokens=5000", "limits.seconds=0.5")),
        ),
        (["--add-dir", "/a", "--add-dir", "b"], options(add_dirs=("/a", "b"))),
        (
            ["--strict-config", "--ignore-user-config"],
            options(strict=True, ignore_user_config=True),
        ),
        (["--skip-git-repo-check"], options(skip_git_repo_check=True)),
        (["--ephemeral"], options(ephemeral=True)),
        (["--json", "hi"], options("hi", json=True)),
        (["--json", "--tree-usage", "hi"], options("hi", json=True, tree_usage=True)),
        (["--experimental-json"], options(json=True)),
        (["-o", "out.txt"], options(output_last_message="out.txt")),
        (["--output-last-message", "out.txt"], options(output_last_message="out.txt")),
        (["--output-schema", "s.json"], options(output_schema="s.json")),
        (["--color", "never"], options(color="never")),
        (["resume", "ID"], options(resume="ID")),
        (["resume", "ID", "hi"], options("hi", resume="ID")),
        (["resume", "ID", "-"], options(None, resume="ID")),
        (["resume", "--last"], options(resume_last=True)),
        (["resume", "--last", "hi"], options("hi", resume_last=True)),
        (["resume", "hi", "--last"], options("hi", resume_last=True)),
        (["resume", "--last", "--all", "hi"], options("hi", resume_last=True, everywhere=True)),
        (["--json", "resume", "ID"], options(resume="ID", json=True)),
        (
            ["--json", "resume", "--last", "-m", "x"],
            options(resume_last=True, json=True, model="x"),
        ),
        (
            ["resume", "ID", "--json", "-m", "x", "hi"],
            options("hi", resume="ID", json=True, model="x"),
        ),
        (
            ["resume", "--json", "ID", "-m", "x", "hi", "-c", "a=1"],
            options("hi", resume="ID", json=True, model="x", overrides=("a=1",)),
        ),
        (["--", "--last"], options("--last")),
        (["--json", "--", "-m"], options("-m", json=True)),
        (["--", "resume"], options("resume")),
        (["--", "review"], options("review")),
        (["resume", "ID", "--", "--last"], options("--last", resume="ID")),
        (["resume", "--last", "--", "-"], options(None, resume_last=True)),
        (["resumed"], options("resumed")),
    ],
)
def test_parse(line: list[str], expected: ExecOptions) -> None:
    assert expected == parse(line)


def test_the_words_that_the_typescript_sdk_uses() -> None:
    words = (
        "--experimental-json --config model_provider=mock --model m --sandbox workspace-write"
        " --cd /w --skip-git-repo-check --output-schema /s.json --config"
        " approval_policy=never resume ID --image /a.png --image /b.png"
    )

    assert parse(words.split()) == options(
        resume="ID",
        json=True,
        model="m",
        sandbox="workspace-write",
        directory="/w",
        skip_git_repo_check=True,
        output_schema="/s.json",
        overrides=("model_provider=mock", "approval_policy=never"),
        images=("/a.png", "/b.png"),
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "not 'fly'; did you mean: codex-actors exec fly"),
        (["--", "exec", "hi"], "exec"),
        (["exec", "--nope"], "unrecognized arguments: --nope"),
        (["exec", "--js", "hi"], "unrecognized arguments: --js"),
        (["exec", "a", "b"], "the prompt is one argument; quote it: 'a b'"),
        (["exec", "a", "--json", "b"], "the prompt is one argument; quote it: 'a b'"),
        (["exec", "--", "a", "--"], "the prompt is one argument; quote it: 'a --'"),
        (["exec", "a", "--", "b"], "the prompt is one argument; quote it: 'a b'"),
        (["exec", "-m"], "argument -m/--model: expected one argument"),
        (["exec", "-s", "all"], "argument -s/--sandbox: invalid choice: 'all'"),
        (["exec", "--color", "blue"], "argument --color: invalid choice: 'blue'"),
        (["exec", "--last", "hi"], "--last and --all go with resume: exec resume --last [PROMPT]"),
        (["exec", "--all"], "--last and --all go with resume: exec resume --last [PROMPT]"),
        (["exec", "resume"], "resume takes the id of a thread, or --last"),
        (["exec", "resume", "--json"], "resume takes the id of a thread, or --last"),
        (["exec", "resume", "ID", "a", "b"], "the prompt is one argument; quote it: 'a b'"),
        (["exec", "resume", "--last", "a", "b"], "the prompt is one argument; quote it: 'a b'"),
        (
            ["exec", "resume", "ID", "--all"],
            "--all goes with --last: exec resume --last --all [PROMPT]",
        ),
        (["exec", "review"], "there is no 'review' here; if it is the prompt: exec -- review"),
        (["exec", "fork", "ID"], "there is no 'fork' here; if it is the prompt: exec -- fork"),
    ],
)
def test_wrong_words(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run_command(argv)
    told = capsys.readouterr()

    assert caught.value.code == 2
    assert told.out == ""
    assert "usage: codex-actors" in told.err
    assert message in told.err


def printed(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        run_command(argv)
    told = capsys.readouterr()
    assert not caught.value.code
    assert told.err == ""
    return told.out


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"codex-actors {__version__}\n" == printed([option], capsys)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_command(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(r"^ +exec +run one agent", printed([option], capsys), re.MULTILINE)


@pytest.mark.parametrize("line", [["--help"], ["resume", "-h"], ["resume", "--last", "--help"]])
def test_help_explains_every_option(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(["exec", *line], capsys)
    run = exec_parser()

    assert "exec resume ID [PROMPT]" in " ".join(text.split())
    for action in run._actions:
        assert action.help not in (None, argparse.SUPPRESS)
        for name in action.option_strings or [str(action.metavar)]:
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text), name


OPTIONS = st.sampled_from(
    [["--json"], ["-m", "x"], ["--color=never"], ["-c", "a=1"], ["-i", "a.png"], ["--ephemeral"]]
)


@given(st.lists(OPTIONS, max_size=4), st.permutations(range(7)))
def test_options_stand_wherever_they_like(given_: list[list[str]], order: list[int]) -> None:
    """Between the words, before and after them: they mean the same."""
    words = [["resume"], ["ID"], ["do it"]]
    ahead = [word for option in given_ for word in option]
    mixed: list[list[str]] = []
    for place in order:
        if place < len(words):
            mixed.append(words[len([p for p in mixed if p in words])])
        elif place - len(words) < len(given_):
            mixed.append(given_[len([p for p in mixed if p not in words])])

    expected = parse([*ahead, "resume", "ID", "do it"])
    assert expected == parse([*(word for part in mixed for word in part)])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("agents", "0"),
        ("tokens", "1.5"),
        ("tokens", "-1"),
        ("tokens", "x"),
        ("tokens", "1=2"),
        ("seconds", "0.0"),
        ("seconds", "nan"),
        ("seconds", "inf"),
        ("seconds", ""),
    ],
)
def test_what_is_no_limit_is_said_of_its_option(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([f"--max-{option}={value}"])

    assert 2 == ended.value.code
    assert f"--max-{option}: expected a" in capsys.readouterr().err
