"""The main job on real input: an agent mends a small project whose tests fail.

The model is played by `script.json`, whose steps depend on what the commands really print;
everything else is real: the git repository, the commands, the patch, the tests, the record.

    python examples/demo/demo.py                        mends the project
    python examples/demo/demo.py -c features.apply_patch=false   cannot, and exits with status 1
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def prepare(folder: Path) -> None:
    """Make the failing project a git repository of its own."""
    shutil.copytree(HERE / "project", folder)
    author = ["-c", "user.name=Demo", "-c", "user.email=demo@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "Add tally"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def run_agent(folder: Path, home: Path, arguments: list[str]) -> int:
    """Let an agent work in ``folder``, and return its exit status."""
    command = [sys.executable, "-m", "codex_actors", "exec", "--sandbox", "danger-full-access"]
    command += ["-m", "gpt-5.5", "-c", "model_provider=scripted"]
    command += ["-c", f"model_providers.scripted.script={HERE / 'script.json'}"]
    command += [*arguments, "The tests of this project fail. Find out why, and mend it."]
    home.mkdir()
    # A home of its own for the shell, too: what a profile prints is no part of the job.
    environment = os.environ | {"CODEX_ACTORS_HOME": str(home), "HOME": str(home)}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
    return done.returncode


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="codex-actors-demo-") as temporary:
        folder, home = Path(temporary, "tally"), Path(temporary, "home")
        prepare(folder)
        status = run_agent(folder, home, sys.argv[1:])
        diff = subprocess.run(["git", "diff"], cwd=folder, capture_output=True, text=True).stdout
        lines = sum(len(p.read_text("utf-8").splitlines()) for p in home.rglob("rollout-*.jsonl"))
        print(f"\nThe agent's change:\n{diff}" if diff else "\nThe agent changed nothing.")
        print(f"The rollout has {lines} lines. Exit status: {status}.")
        return status


if __name__ == "__main__":
    sys.exit(main())
