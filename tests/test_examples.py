"""Every example runs."""

from __future__ import annotations

import doctest
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def surroundings(home: Path) -> dict[str, str]:
    # Commands run in login shells: whoever runs the tests has a profile of unknown length.
    homes = {"CODEX_ACTORS_HOME": str(home), "HOME": str(home)}
    return os.environ | homes | {"PYTHONPATH": str(ROOT)}


def run(*arguments: str, home: Path, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    home.mkdir()
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT if typed is None else home,
        env=surroundings(home),
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("y\n", "up"),
        (
            "n\n",
            r'exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }',
        ),
    ],
)
def test_approvals(tmp_path: Path, typed: str, said: str) -> None:
    home = tmp_path / "home"
    done = run(str(ROOT / "examples" / "approvals.py"), home=home, typed=typed)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "/root/scout: the tide is in; exec_command failed: CreateProcess { message:"
        r' "Rejected(\"rejected by user: nothing is removed on this ship\")" }',
        "/root/pilot asks to run: echo up > anchor.txt; cat anchor.txt",
        f"/root/pilot: {said}",
    ]
    assert (home / "anchor.txt").exists() == (typed == "y\n")


def test_one_agent(tmp_path: Path) -> None:
    done = run("examples/one_agent.py", home=tmp_path / "home")

    assert done.stderr == ""
    assert "ran uname -s -> 0\n" in done.stdout
    assert "said This machine runs " in done.stdout
    assert "TaskCompleted(message='This machine runs " in done.stdout


def test_supervised_pair(tmp_path: Path) -> None:
    done = run("examples/supervised_pair.py", home=tmp_path / "home")

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "worker: warning: /root/worker crashed: ConnectionError('the ledger does not answer')",
        "worker: begins",
        "worker: The invoices come to 1170.",
        "reviewer: begins",
        "reviewer: I get 1170 as well: accepted.",
        "/root: 3 turns, 440 tokens",
        "/root/worker: 2 turns, 220 tokens",
        "/root/reviewer: 1 turns, 220 tokens",
    ]


def test_fan_out(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("Roses\nare red\n", "utf-8")
    (tmp_path / "picture").write_bytes(b"\xff\xfe")
    done = run("examples/fan_out.py", str(tmp_path), home=tmp_path / "home")

    assert done.stderr == ""
    *files, total = done.stdout.splitlines()
    assert ["1 of 2", "2 of 2"] == [line.partition(": ")[0] for line in files]
    assert "poem.txt: 2 lines, the first is 'Roses'." in done.stdout
    assert "picture: 1 lines, the first is \"cannot read 'picture'" in done.stdout
    assert total == "2 turns, 440 tokens"


def test_fan_out_stops_at_its_budget(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("Roses\n", "utf-8")
    done = run("examples/fan_out.py", str(tmp_path), "--tokens", "500", home=tmp_path / "home")

    assert (done.stderr, done.returncode) == ("", 0)
    read = [line for line in done.stdout.splitlines() if " of 9: " in line]
    left = [line for line in done.stdout.splitlines() if "was not read: tokens of /root: " in line]
    assert 9 == len(read) + len(left)
    assert read
    assert len(left) >= 4, (
        "five requests for 110 tokens each are too much, and three may run at once"
    )


def test_pipeline(tmp_path: Path) -> None:
    done = run("examples/pipeline.py", home=tmp_path / "home")

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "collector: I have handed it on.",
        "writer: I have handed it on.",
        "editor: Harbour has 12 ships and market has closed.",
    ]


def test_survives_kill(tmp_path: Path) -> None:
    done = run("examples/survives_kill.py", home=tmp_path / "home")
    tree = [
        "  /root             pending_init  1 unread",
        "  /root/pilot       running       0 unread  Can we leave the harbour?",
        "  /root/pilot/mate  Completed     2 unread",
    ]

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "A tree is at work:",
        *tree,
        "Killed: exit status -9. The same tree, in another process:",
        *tree,
        "/root/pilot: TaskCompleted(message='The tide is in: we can leave the harbour.')",
    ]


def test_the_demo_mends_the_project(tmp_path: Path) -> None:
    done = run("examples/demo/demo.py", home=tmp_path / "home")

    assert done.returncode == 0, done.stderr
    assert "Mended: `show` in tally.py:12" in done.stdout
    assert '+    return f"{minutes // 60:02d}:{minutes % 60:02d}"' in done.stdout


def test_the_demo_fails_without_its_patch_tool(tmp_path: Path) -> None:
    done = run("examples/demo/demo.py", "-c", "features.apply_patch=false", home=tmp_path / "home")

    assert done.returncode == 1
    assert "The agent changed nothing." in done.stdout
    assert "unsupported custom tool call: apply_patch" in done.stderr


PROGRAM = re.compile(
    r"^```python\n(.*?)^```\n(?:[^`]*^```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
"""A program on a page, and, if nothing but words is between, what it prints (``...``: anything)."""


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial/one-agent.md"])
def test_programs_on_the_pages_run(name: str, tmp_path: Path) -> None:
    programs = PROGRAM.findall((ROOT / name).read_text("utf-8"))
    for number, (program, shown) in enumerate(programs):
        path, home = tmp_path / f"{number}.py", tmp_path / f"home{number}"
        path.write_text(program, "utf-8")
        home.mkdir()
        script = ROOT / "examples" / "hello.json"
        (home / "config.toml").write_text(
            f'model_provider = "scripted"\n[model_providers.scripted]\nscript = "{script}"\n',
            "utf-8",
        )
        done = subprocess.run(
            [sys.executable, str(path)],
            env=surroundings(home),
            capture_output=True,
            text=True,
            timeout=60,
        )

        assert (done.stderr, done.returncode) == ("", 0)
        expected = shown or "...TaskCompleted..."
        assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), (
            done.stdout
        )
    assert programs


def test_the_script_of_the_tutorial_is_the_one_its_programs_are_tested_with() -> None:
    text = (ROOT / "docs/tutorial/one-agent.md").read_text("utf-8")
    (script,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)

    assert (ROOT / "examples/hello.json").read_text("utf-8") == script


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_tool_of_the_page_is_called(tmp_path: Path) -> None:
    page = "docs/how-to/write-a-tool.md"
    (shown,) = blocks(page, "text")
    (tmp_path / "tool.py").write_text("\n".join(blocks(page, "python")), "utf-8")
    (tmp_path / "notes.txt").write_text("one\ntwo\n", "utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / "play.json").write_text(
        """[
            [{"call": "count_lines", "args": {"path": "notes.txt"}}],
            {"expect": [{"matches": "^(?P<n>[0-9]+ lines)$"}], "items": [{"say": "It has ${n}."}]}
        ]""",
        "utf-8",
    )
    (home / "config.toml").write_text(
        'model_provider = "scripted"\nmodel_providers.scripted.script = "play.json"\n', "utf-8"
    )
    done = subprocess.run(
        [sys.executable, "tool.py"],
        cwd=tmp_path,
        env=surroundings(home),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stderr, done.stdout) == ("", shown)


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@contextmanager
def running(program: str) -> Iterator[str]:
    """Run a program, and give its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.kill()


def test_a_program_is_joined_with_a_script_that_is_served(tmp_path: Path) -> None:
    page, port = "docs/reference/scripts.md", free_port()
    (program,) = (p for p in blocks(page, "python") if "serve_scripted" in p)
    (config,) = (c for c in blocks(page, "toml") if "8765" in c)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(config.replace("8765", port), "utf-8")
    words = ("exec", "-s", "danger-full-access", "--skip-git-repo-check", "go")
    with running(program.replace("8765", port)) as line:
        done = subprocess.run(
            [sys.executable, "-m", "codex_actors", *words],
            cwd=tmp_path,
            env=surroundings(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert f"http://127.0.0.1:{port}/v1\n" == line
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
    assert "$ uname -s" in done.stderr


BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")


def played(page: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Write the files of a page; run each program, and each command, that shows what it prints.

    Returns:
        What was run, what the page shows, and what it printed.
    """
    home = folder / "home"
    home.mkdir()
    script = f'model_provider = "scripted"\nmodel_providers.scripted.script = "{HELLO}"\n'
    (home / "config.toml").write_text(script, "utf-8")
    found = BLOCK.findall((ROOT / page).read_text("utf-8"))
    for (language, text), (following, shown) in zip(found, [*found[1:], ("", "")], strict=True):
        named = FILE.match(text) if language == "python" else None
        if named is not None:
            (folder / named[1]).write_text(text, "utf-8")
            command = f"{sys.executable} {named[1]}"
        elif language == "sh":
            command = text.replace("codex-actors", f"{sys.executable} -m codex_actors")
        else:
            continue
        if following == "text" or language == "sh":
            done = subprocess.run(
                ["bash", "-ec", command],
                cwd=folder,
                env=surroundings(home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert ("", 0) == (done.stderr, done.returncode), text
            yield text, shown if following == "text" else "", done.stdout


HELLO = ROOT / "examples" / "hello.json"


@pytest.mark.parametrize(
    "page",
    [
        "docs/tutorial/supervised-pair.md",
        "docs/how-to/bound-what-agents-use.md",
        "docs/how-to/stop-and-resume-a-tree.md",
        "docs/how-to/write-a-tool-that-spawns.md",
    ],
)
def test_the_files_of_a_page_make_what_it_shows(page: str, tmp_path: Path) -> None:
    checker, count = doctest.OutputChecker(), 0
    for ran, shown, printed in played(page, tmp_path):
        assert checker.check_output(shown, printed, doctest.ELLIPSIS), f"{ran}\n{printed}"
        count += 1
    assert count
