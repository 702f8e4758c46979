"""A tree at work on a disk that is full, and has room again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.integration.full_disk import work
from tests.integration.support import ROOT

MOUNT: Final = 'mount -t tmpfs -o size=1m,mode=700 none "$1" && shift && exec "$@"'
OWN_DISK: Final = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh")


@pytest.mark.parametrize("size", [0, 1500, 6000])
async def test_files_that_may_not_grow(
    tmp_path: Path, limit_files: Callable[[int | None], None], size: int
) -> None:
    await work(tmp_path / "home", lambda: limit_files(size), lambda: limit_files(None))


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    probe = subprocess.run([*OWN_DISK, tmp_path / "disk", "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip("no disk of one's own to be had here")
    home = str(tmp_path / "disk" / "home")
    program = [sys.executable, "-m", "tests.integration.full_disk", home]
    ended = subprocess.run(
        [*OWN_DISK, tmp_path / "disk", *program],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=90,
    )

    assert (0, "") == (ended.returncode, ended.stderr)
