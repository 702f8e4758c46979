"""The pictures in the pages show what the program draws."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"


def words_of(picture: Path) -> list[str]:
    """The lines of a picture, without what differs from run to run."""
    svg = picture.read_text("utf-8")
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[float(y)] = rows.get(float(y), "") + html.unescape(text).replace("\xa0", " ")
    lines = [rows[y].rstrip() for y in sorted(rows)]
    varying = r"/tmp/\S+?/|\b[0-9a-f-]{36}\b|\s*\b\d+\.\d+ ?s\b|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|\(\d+ more above\)|,"
    told = [re.sub(varying, "", line).strip() for line in lines]
    # Two commands of one answer run at the same time; either may end first.
    return sorted(line for line in told if line)


def test_pictures_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, FOLDER / "make.py", tmp_path], check=True)
    drawn = {path.name: words_of(path) for path in tmp_path.glob("*.svg")}

    assert {path.name: words_of(path) for path in FOLDER.glob("*.svg")} == drawn
    assert any("FAILED (failures=2)" in line for line in drawn["demo.svg"])
