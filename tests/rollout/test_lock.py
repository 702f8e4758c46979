from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_actors.protocol import ThreadId
from codex_actors.rollout import ThreadBusy, find_holder, open_lock

LEAD = ThreadId("lead")


async def test_who_looks_sees_the_holder_and_is_not_in_its_way(tmp_path: Path) -> None:
    home = str(tmp_path)
    before = find_holder(home, LEAD)
    async with open_lock(home, LEAD):
        during = find_holder(home, LEAD)
        with pytest.raises(ThreadBusy, match=rf"by process {os.getpid()};"):
            async with open_lock(home, LEAD):
                pass
    after = find_holder(home, LEAD)

    assert (None, f"{os.getpid()}", None) == (before, during, after)


async def test_a_lock_that_a_killed_program_left_is_held_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "lead.lock").write_text("1\n")

    assert find_holder(str(tmp_path), LEAD) is None
    async with open_lock(str(tmp_path), LEAD):
        assert find_holder(str(tmp_path), LEAD) == f"{os.getpid()}"
