"""Rollouts that cannot be read in full are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.rollout import find_damaged

NAME = "sessions/2026/01/0{}/rollout-2026-01-0{}T00-00-00-abc{}.jsonl"
META = (
    b'{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"abc",'
    b'"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","originator":"o","cli_version":"1"}}\n'
)


def put(home: Path, day: int, data: bytes) -> str:
    path = home / NAME.format(day, day, day)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return str(path)


def test_a_home_without_rollouts(tmp_path: Path) -> None:
    assert () == find_damaged(str(tmp_path), 10)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "rollout"),
        (b"no json\n", "rollout"),
        (META + b"junk\n" + META, "line 2: "),
        (META.replace(b"session_meta", b"later_kind"), "no line says which thread it is of"),
    ],
)
def test_damage_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    path = put(tmp_path, 1, data)

    [(where, damage)] = find_damaged(str(tmp_path), 10)

    assert (path, True) == (where, told in damage)


def test_a_torn_last_line_is_no_damage(tmp_path: Path) -> None:
    put(tmp_path, 1, META + b'{"timest')

    assert () == find_damaged(str(tmp_path), 10)


def test_only_the_newest_are_read(tmp_path: Path) -> None:
    put(tmp_path, 1, b"junk\n")
    put(tmp_path, 2, META)

    assert () == find_damaged(str(tmp_path), 1)
    assert 1 == len(find_damaged(str(tmp_path), 2))
