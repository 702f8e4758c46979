"""What patches have changed in one turn."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import final

import attrs

from ..core import FileDelta, MoveFile, Operation, RemoveFile, WriteFile, turn_diff


@final
@attrs.define(eq=False)
class TurnChanges:
    """Remembers how files were before the turn's first patch to them.

    Only what patches do is seen, not what commands do.
    """

    _before: dict[str, str | None] = attrs.field(factory=dict, init=False)
    _now: dict[str, str | None] = attrs.field(factory=dict, init=False)
    _origin: dict[str, str] = attrs.field(factory=dict, init=False)
    """Where a file that patches moved was at first."""
    _root: str = attrs.field(default="/", init=False)
    _diff: str | None = attrs.field(default=None, init=False)

    def record(
        self, before: Mapping[str, str | None], operations: tuple[Operation, ...], *, root: str
    ) -> None:
        """Take note of a patch that was carried out.

        Args:
            before: Every file that the patch touches as it was, by absolute path.
            operations: What was done, with absolute paths.
            root: The directory that the diff's paths begin at.
        """
        self._root, self._diff = root, None
        for path, text in before.items():
            self._before.setdefault(path, text)
            self._now[path] = text
        for operation in operations:
            self._carry_out(operation)

    def unified_diff(self) -> str:
        """Return all changes as git would print them; empty if nothing changed in the end."""
        if self._diff is None:
            self._diff = turn_diff(self._deltas())
        return self._diff

    def _carry_out(self, operation: Operation) -> None:
        match operation:
            case WriteFile(path, text):
                self._now[path] = text
            case RemoveFile(path):
                self._now[path] = None
                self._origin.pop(path, None)
            case MoveFile(path, destination, text):
                self._now[path] = None
                self._now[destination] = text
                origin = self._origin.pop(path, path)
                self._origin.pop(destination, None)
                if origin not in self._origin.values():
                    self._origin[destination] = origin

    def _deltas(self) -> Iterator[FileDelta]:
        moved = {new: old for new, old in self._origin.items() if self._is_move(old, new)}
        gone = set(moved.values())
        for path, now in self._now.items():
            if path in moved:
                old = moved[path]
                yield self._delta(path, self._before[old], now, self._shown(old))
            elif path not in gone:
                yield self._delta(path, self._before[path], now, None)

    def _is_move(self, old: str, new: str) -> bool:
        """Whether git would call it a rename: nothing is left there, nothing was here."""
        return (
            self._before[old] is not None
            and self._now[old] is None
            and self._before[new] is None
            and self._now[new] is not None
        )

    def _delta(
        self, path: str, before: str | None, now: str | None, moved_from: str | None
    ) -> FileDelta:
        shown = self._shown(path)
        return FileDelta(path=shown, before=before, after=now, moved_from=moved_from)

    def _shown(self, path: str) -> str:
        inside = os.path.commonpath([self._root, path]) == self._root
        return os.path.relpath(path, self._root) if inside else path.lstrip("/")
