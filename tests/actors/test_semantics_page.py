"""The programs in docs/reference/semantics.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "semantics.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_runs(program: str) -> None:
    exec(compile(program, str(PAGE), "exec"), {"__name__": "semantics"})


def test_the_page_has_programs() -> None:
    assert len(PROGRAMS) == 3
