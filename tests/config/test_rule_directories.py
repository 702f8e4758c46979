from __future__ import annotations

from pathlib import Path

import pytest

from codex_actors.config import find_rule_directories
from codex_actors.protocol import GuideRules


@pytest.mark.parametrize("of_root", [None, True, False])
@pytest.mark.parametrize("of_cwd", [None, True, False])
def test_projects_count_if_somebody_trusts_them(
    tmp_path: Path, of_root: bool | None, of_cwd: bool | None
) -> None:
    (tmp_path / ".git").mkdir()
    cwd = tmp_path / "a" / "b"
    said = {str(tmp_path): of_root, str(cwd): of_cwd}
    guides = GuideRules(trust={path: trust for path, trust in said.items() if trust is not None})
    of_project = tuple(str(place / ".codex" / "rules") for place in (tmp_path, tmp_path / "a", cwd))

    found = find_rule_directories(guides, home="/home/me", cwd=str(cwd))

    is_trusted = of_root if of_cwd is None else of_cwd
    assert ("/home/me/rules", *(of_project if is_trusted else ())) == found
