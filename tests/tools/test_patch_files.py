from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_actors.core import UNCONFINED, Operation, RemoveFile, WriteFile
from codex_actors.tools._patch_files import FileTrouble, carry_out, read_text


def test_a_file_that_changed_meanwhile_stops_the_patch(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("theirs\n")
    with pytest.raises(FileTrouble, match="has changed meanwhile; nothing was written"):
        carry_out([WriteFile(str(path), "ours\n")], {str(path): "before\n"}, UNCONFINED)

    assert "theirs\n" == path.read_text()


def test_a_file_that_came_meanwhile_stops_the_patch(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    with pytest.raises(FileTrouble, match="has changed meanwhile"):
        carry_out([WriteFile(str(path), "ours\n")], {str(path): None}, UNCONFINED)


def test_what_cannot_be_undone_is_named(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.txt").write_text("a\n")

    def operations() -> Iterator[Operation]:
        yield RemoveFile(str(inner / "a.txt"))
        inner.rmdir()  # somebody else takes away where it would have to come back to
        yield WriteFile("/proc/nope", "x")

    with pytest.raises(FileTrouble, match=r"could not undo the changes to .*a\.txt"):
        carry_out(operations(), {}, UNCONFINED)


def test_surrogates_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(FileTrouble, match="nothing was changed"):
        carry_out([WriteFile(str(path), "\ud800")], {}, UNCONFINED)

    assert not path.exists()


def test_no_file_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert [None, None, ""] == [
        read_text(str(tmp_path / name), UNCONFINED) for name in ("none", "file/below", "file")
    ]
