"""What a library does not do to the program that uses it."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

from tests.agents.support import open_tree, remember


async def test_garbage_collection_and_signals_are_the_program_s(tmp_path: Path) -> None:
    before = gc.get_threshold(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async with open_tree(tmp_path, remember([{"say": "hello"}])) as tree:
        root = await tree.spawn()
        await (await root.assign("hi")).wait()
        during = (
            gc.get_threshold(),
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGTERM),
        )

    assert before == during
