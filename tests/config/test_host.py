from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.config._host import find_shell, find_timezone


@pytest.mark.parametrize("value", ["/bin/sh", "sh", "/no/such/shell", ""])
def test_a_shell_is_absolute(value: str) -> None:
    shell = find_shell({"SHELL": value})

    assert (shell == "/bin/sh") if value == "/bin/sh" else shell in {"/bin/bash", "/bin/sh"}


@pytest.mark.parametrize(
    ("value", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/UTC", "UTC"),
    ],
)
def test_the_variable_names_the_zone(value: str, zone: str) -> None:
    assert zone == find_timezone({"TZ": value})


def test_the_zone_is_where_localtime_points(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")

    assert find_timezone({}, str(link)) == "Europe/Berlin"
    assert find_timezone({}, str(tmp_path / "missing")) == "UTC"
