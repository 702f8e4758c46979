from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_actors.config import SettingsError
from codex_actors.config._files import is_open_to_others, read_text


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfx = 1")

    assert read_text(str(path)) == "x = 1"


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert read_text(str(tmp_path / "f")) is None


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: is a directory"):
        read_text(str(tmp_path))


def test_a_name_that_cannot_exist_is_refused() -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_text("/a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_locked_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("")
    path.chmod(0)

    with pytest.raises(SettingsError, match="permission denied"):
        read_text(str(path))


def test_other_encodings_are_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a = 1\nb = '\xe9'\n")

    with pytest.raises(SettingsError, match=r"line 2 is not UTF-8 \(byte 0xe9\)"):
        read_text(str(path))


@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, True), (0o604, True)])
def test_who_may_read(tmp_path: Path, mode: int, is_open: bool) -> None:
    path = tmp_path / "f"
    path.write_text("")
    path.chmod(mode)

    assert is_open == is_open_to_others(str(path))


def test_a_file_that_has_gone_is_open_to_nobody(tmp_path: Path) -> None:
    assert not is_open_to_others(str(tmp_path / "f"))
