"""Where a message that is being written can be cut: what is before will not change its look."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(```|~~~)")

# A line that begins like this may go on with a list, a quote or a table from above.
_MAY_BELONG: Final = re.compile(r"[\s\d*+>|-]")


def cut(text: str) -> tuple[str, str]:
    """Return the paragraphs that are whole, and the rest; together they are the text."""
    found = 0
    place = 0
    fence = ""
    blank = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if blank and not fence and not _MAY_BELONG.match(line):
            found = place
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        blank = not line.strip()
        place += len(line)
    return text[:found], text[found:]
