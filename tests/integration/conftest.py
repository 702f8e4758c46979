from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from tests.integration.terminals import Tmux


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed; it is the terminal of this test")
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="tmux-") as folder:
        made = Tmux(f"{folder}/socket")
        yield made
        subprocess.run(["tmux", "-S", made.socket, "kill-server"], check=False, capture_output=True)
