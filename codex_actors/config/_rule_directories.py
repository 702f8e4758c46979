"""Where files of rules lie: beside the settings, and in projects that are trusted."""

from __future__ import annotations

import os

from ..protocol import GuideRules
from ._guides import find_project, list_directories


def find_rule_directories(guides: GuideRules, *, home: str, cwd: str) -> tuple[str, ...]:
    """Return the directories whose ``*.rules`` hold for an agent in ``cwd``; looks at the disk.

    Rules may let commands run outside the sandbox. So those of a project count only if somebody
    said that it is trusted; for the texts of ``AGENTS.md`` it is enough that nobody denied it.

    Args:
        guides: What makes the root of a project, and who is trusted.
        home: Absolute path of the home directory, whose rules come first.
        cwd: Absolute path of the working directory.

    Returns:
        Absolute paths, lowest layer first; not all of them need be there.
    """
    of_home = os.path.join(home, "rules")
    root = find_project(guides, cwd)
    if not guides.trust.get(cwd, guides.trust.get(root, False)):
        return (of_home,)
    projects = (os.path.join(place, ".codex", "rules") for place in list_directories(root, cwd))
    return (of_home, *projects)
