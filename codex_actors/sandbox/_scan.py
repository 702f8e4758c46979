"""Looking for what the patterns of a permission profile match.

A mechanism denies paths, so patterns are turned into paths just before a command starts. What
matches and is made later is not denied to that command, but to the next one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import Final

from ..core import PathPattern, Reach, is_below
from ._errors import TooMuchToScan

MOST_ENTRIES: Final = 200_000
"""Files and folders that are looked at for a pattern; about a second on a usual disk."""


def find_denied(reach: Reach, *, most: int = MOST_ENTRIES) -> Reach:
    """Return the reach with what its patterns match now, instead of the patterns. Blocks.

    What a matching link leads to is denied, too. Links to folders are not followed further.

    Args:
        reach: What a process may touch.
        most: How many files and folders may be looked at for each pattern.

    Raises:
        TooMuchToScan: if there are more, in the folders that the pattern is about.
    """
    if not reach.patterns:
        return reach
    return reach.spell_out(path for pattern in reach.patterns for path in _matching(pattern, most))


def _matching(pattern: PathPattern, most: int) -> Iterator[str]:
    for path in _entries(pattern, most):
        if pattern.matches(path):
            real = os.path.realpath(path)
            # Of a link to a folder around it, nothing is seen that is not seen without it.
            if not is_below(path, real) or real == path:
                yield real


def _entries(pattern: PathPattern, most: int) -> Iterator[str]:
    """All that may match, outer ones first; nothing below what matches."""
    pending = deque([(pattern.base, 1)])
    seen = 0
    while pending:
        folder, depth = pending.popleft()
        for entry in _list(folder):
            seen += 1
            if seen > most:
                raise TooMuchToScan(pattern.text, pattern.base, most)
            yield entry.path
            deeper = pattern.depth is None or depth < pattern.depth
            if deeper and entry.is_dir(follow_symlinks=False) and not pattern.matches(entry.path):
                pending.append((entry.path, depth + 1))


def _list(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        # Neither can the command read it, or it is gone.
        return []
