"""Unified diffs: of one change, and of all that a turn did, as git would print it.

Invariant, held by ``tests/core/test_diff.py``: carrying out the changes found turns the first text
into the second.

The search is Myers' greedy one, of a cost that grows with the number of differences, and it gives
up after a fixed number of steps: two large and unrelated texts are then described as one replaced
whole, in bounded time.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, final

import attrs

MAX_STEPS = 1_000_000
"""Of the search, about half a second of it; enough for some thousand changed lines."""

_NO_BLOB = "0" * 40
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """Lines ``[start, end)`` of the old text became lines ``[new_start, new_end)`` of the new."""

    start: int
    end: int
    new_start: int
    new_end: int


@final
@attrs.frozen(kw_only=True)
class FileDelta:
    """A file before and after a turn; None where it did not exist."""

    path: str
    """Where it is now, or was last, relative to the root of the diff."""
    before: str | None
    after: str | None
    moved_from: str | None = None
    """Where it was before, if that was elsewhere."""


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their LF; no other character ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, last] if last else ended


def line_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return what differs between two lists of lines, in order, never touching each other."""
    prefix = _common(old, new)
    most = min(len(old), len(new)) - prefix
    suffix = min(_common(old[::-1], new[::-1]), most)
    middle = _shortest(
        old[prefix : len(old) - suffix], new[prefix : len(new) - suffix], max_steps=MAX_STEPS
    )
    return [Change(*(index + prefix for index in change)) for change in middle]


def unified_diff(old: str, new: str, *, context: int = 1) -> str:
    """Return the hunks that turn ``old`` into ``new``, without file names; empty if equal.

    One line of context is what the reference shows for a change; a turn's diff has three.
    """
    before, after = split_lines(old), split_lines(new)
    hunks = _grouped(line_changes(before, after), context)
    return "".join(_hunk(before, after, hunk, context) for hunk in hunks)


def turn_diff(files: Iterable[FileDelta]) -> str:
    """Return a git-style diff of what changed, by path; empty if in the end nothing did.

    Modes are always those of a plain file. A file that only moved gets git's rename lines.
    """
    return "".join(_file_diff(file) for file in sorted(files, key=lambda file: file.path))


def blob_id(text: str) -> str:
    """Return the name that git gives to a file with this text."""
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _file_diff(file: FileDelta) -> str:
    old_path = file.moved_from or file.path
    if file.before == file.after:
        return _rename(old_path, file.path) if old_path != file.path and file.after else ""
    before = _NO_BLOB if file.before is None else blob_id(file.before)
    after = _NO_BLOB if file.after is None else blob_id(file.after)
    body = unified_diff(file.before or "", file.after or "", context=3)
    old_name = "/dev/null" if file.before is None else f"a/{old_path}"
    new_name = "/dev/null" if file.after is None else f"b/{file.path}"
    return "".join(
        [
            f"diff --git a/{old_path} b/{file.path}\n",
            "new file mode 100644\n" if file.before is None else "",
            "deleted file mode 100644\n" if file.after is None else "",
            f"index {before}..{after}\n",
            f"--- {old_name}\n+++ {new_name}\n" if body else "",
            body,
        ]
    )


def _rename(old: str, new: str) -> str:
    return (
        f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"
    )


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common prefix."""
    pairs = zip(old, new, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _shortest(old: Sequence[str], new: Sequence[str], *, max_steps: int) -> list[Change]:
    """Return a shortest edit script, or one change of everything if it is too costly to find."""
    if not old and not new:
        return []
    if not old or not new:
        return [Change(0, len(old), 0, len(new))]
    trace = _search(old, new, max_steps)
    if trace is None:
        return [Change(0, len(old), 0, len(new))]
    return _between(_matches(trace, len(old), len(new)), len(old), len(new))


def _search(old: Sequence[str], new: Sequence[str], max_steps: int) -> list[array[int]] | None:
    """Return, for each number of edits, how far into ``old`` they reach on each diagonal.

    E. W. Myers, "An O(ND) difference algorithm and its variations", 1986, figure 2. After ``d``
    edits there are ``d + 1`` diagonals; the one at index ``i`` is ``old - new == 2 * i - d``.
    """
    ids: dict[str, int] = {}
    a = [ids.setdefault(line, len(ids)) for line in old]
    b = [ids.setdefault(line, len(ids)) for line in new]
    trace: list[array[int]] = []
    reach, steps = array("q", [0]), 0
    while steps <= max_steps:
        edits = len(trace)
        here = array("q")
        for i in range(edits + 1):
            x = start = reach[i] if _inserts(reach, i, edits) else reach[i - 1] + 1
            y = x - 2 * i + edits
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            here.append(x)
            steps += 1 + x - start
            if x >= len(a) and y >= len(b):
                return [*trace, here]
        trace.append(here)
        reach = here
    return None


def _inserts(reach: array[int], i: int, edits: int) -> bool:
    """Say whether the best way onto a diagonal is an insertion rather than a deletion."""
    return i == 0 or (i != edits and reach[i - 1] < reach[i])


def _matches(trace: list[array[int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """Walk back from the end; return runs of equal lines as (old, new, length), in order."""
    runs = []
    for edits in range(len(trace) - 1, 0, -1):
        reach, i = trace[edits - 1], (x - y + edits) // 2
        inserts = _inserts(reach, i, edits)
        start = reach[i] if inserts else reach[i - 1] + 1
        runs.append((start, start - x + y, x - start))
        x, y = (start, start - x + y - 1) if inserts else (start - 1, start - x + y)
    runs.append((0, 0, x))
    return [run for run in reversed(runs) if run[2]]


def _between(runs: list[tuple[int, int, int]], old: int, new: int) -> list[Change]:
    """Return what lies between the runs of equal lines."""
    fences = [(0, 0, 0), *runs, (old, new, 0)]
    gaps = [
        Change(a + size, next_a, b + size, next_b)
        for (a, b, size), (next_a, next_b, _) in pairwise(fences)
    ]
    return [gap for gap in gaps if gap.start < gap.end or gap.new_start < gap.new_end]


def _grouped(changes: list[Change], context: int) -> list[list[Change]]:
    """Put changes whose contexts touch or overlap into one hunk."""
    hunks: list[list[Change]] = []
    for change in changes:
        if hunks and change.start - hunks[-1][-1].end <= 2 * context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _hunk(old: list[str], new: list[str], changes: list[Change], context: int) -> str:
    first, last = changes[0], changes[-1]
    lead = min(context, first.start)
    trail = min(context, len(old) - last.end)
    lines, at = [], first.start - lead
    for change in changes:
        lines += [_marked(" ", line) for line in old[at : change.start]]
        lines += [_marked("-", line) for line in old[change.start : change.end]]
        lines += [_marked("+", line) for line in new[change.new_start : change.new_end]]
        at = change.end
    lines += [_marked(" ", line) for line in old[at : at + trail]]
    before = _range(first.start - lead, last.end + trail)
    after = _range(first.new_start - lead, last.new_end + trail)
    return "".join([f"@@ -{before} +{after} @@\n", *lines])


def _marked(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_NEWLINE}"


def _range(start: int, end: int) -> str:
    """Return a line range as diffs count: from 1, a single line without its length."""
    match end - start:
        case 1:
            return f"{start + 1}"
        case 0:
            return f"{start},0"
        case length:
            return f"{start + 1},{length}"
