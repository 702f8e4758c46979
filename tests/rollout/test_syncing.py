"""Having the disk hold many files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from codex_actors.rollout._files import Append, AppendFiles
from codex_actors.rollout._syncing import sync_all


def test_who_is_refused_is_named_and_the_others_are_synced(tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(10)]
    descriptors = {path: os.open(path, os.O_RDWR | os.O_CREAT) for path in paths}
    reading, writing = os.pipe()  # of which no disk can hold anything
    try:
        refused = sync_all({**descriptors, "pipe": writing})
    finally:
        for descriptor in (*descriptors.values(), reading, writing):
            os.close(descriptor)

    assert {"pipe": errno.EINVAL} == {path: error.errno for path, error in refused.items()}


def test_more_files_than_may_be_open_are_synced(tmp_path: Path) -> None:
    files = AppendFiles(max_open=2)
    paths = [tmp_path / "folder" / str(number) for number in range(5)]
    files.append([Append(str(path), b"line\n", goes_on=False) for path in paths])
    paths[0].unlink()
    paths[0].mkdir()
    problem = files.sync()

    assert isinstance(problem, IsADirectoryError)
    assert files.unsynced
    assert files.open_count == 2

    paths[0].rmdir()

    assert files.sync() is None
    assert not files.unsynced

    files.close()
