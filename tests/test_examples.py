"""Every example runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CODEX_ACTORS_HOME": str(home), "PYTHONPATH": str(ROOT)}
    home.mkdir()
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
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


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial/one-agent.md"])
def test_programs_on_the_pages_run(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text("utf-8")
    programs = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    for number, program in enumerate(programs):
        path = tmp_path / f"{number}.py"
        path.write_text(program, "utf-8")
        script = ROOT / "examples" / "hello.json"
        (tmp_path / f"home{number}").mkdir()
        config = tmp_path / f"home{number}" / "config.toml"
        config.write_text(
            f'model_provider = "scripted"\n[model_providers.scripted]\nscript = "{script}"\n',
            "utf-8",
        )
        environment = os.environ | {
            "CODEX_ACTORS_HOME": str(tmp_path / f"home{number}"),
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=60
        )

        assert (done.stderr, done.returncode) == ("", 0)
        assert "TaskCompleted" in done.stdout
