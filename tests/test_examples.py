"""Every example runs."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def surroundings(home: Path) -> dict[str, str]:
    # Commands run in login shells: whoever runs the tests has a profile of unknown length.
    homes = {"CODEX_ACTORS_HOME": str(home), "HOME": str(home)}
    return os.environ | homes | {"PYTHONPATH": str(ROOT)}


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    home.mkdir()
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=surroundings(home),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_one_agent(tmp_path: Path) -> None:
    done = run("examples/one_agent.py", home=tmp_path / "home")

    assert done.stderr == ""
    assert "ran uname -s -> 0\n" in done.stdout
    assert "said This machine runs " in done.stdout
    assert "TaskCompleted(message='This machine runs " in done.stdout


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
