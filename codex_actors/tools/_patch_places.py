"""Where the paths of one patch lead. Blocking; for threads."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping
from typing import final

import attrs

from ..core import DeleteHunk, Hunk, MoveFile, Operation, Patch, PatchedPlace, UpdateHunk
from ..protocol import FileChange, UpdateFile
from ._limits import absolute
from ._patch_files import FileTrouble


@final
class Places:
    """Where the paths of one patch lead.

    Two names of one file are one file, or a hunk would undo what another did. Only a link
    that the patch removes stands for itself: not the file is to go, but the link.
    """

    def __init__(self, cwd: str, patch: Patch) -> None:
        self._cwd = cwd
        self._hunks = patch.hunks
        self._removed = {self._absolute(hunk.path) for hunk in patch.hunks if _removes(hunk)}
        self._spelled: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        spelled = self._absolute(path)
        try:
            real = self._real(spelled)
        except ValueError as error:
            raise FileTrouble(f"{path!r} is no path: {error}", spelled) from error
        self._spelled.setdefault(real, spelled)
        return real

    def spell(self, changes: Mapping[str, FileChange]) -> dict[str, FileChange]:
        """The changes by path, with the paths as the patch has them, made absolute."""
        spelled = {
            self._spelled[path]: attrs.evolve(change, move_path=self._spelled[change.move_path])
            if isinstance(change, UpdateFile) and change.move_path is not None
            else change
            for path, change in changes.items()
        }
        return dict(sorted(spelled.items()))

    def written(self, operations: Iterable[Operation]) -> Iterator[PatchedPlace]:
        """The places that operations write, make or remove."""
        for operation in operations:
            paths = [operation.path]
            if isinstance(operation, MoveFile):
                paths.append(operation.destination)
            for path in paths:
                yield PatchedPlace(self._spelled[path], path)

    def hunk(self, real: str) -> str:
        """Which hunk is the first about a file, for people."""
        for number, hunk in enumerate(self._hunks, 1):
            paths = {hunk.path, getattr(hunk, "move_path", None) or hunk.path}
            if self._spelled.get(real, real) in map(self._absolute, paths):
                return f"hunk {number}"
        return "the patch"

    def _real(self, spelled: str) -> str:
        if spelled not in self._removed or not os.path.islink(spelled):
            return os.path.realpath(spelled)
        return os.path.join(os.path.realpath(os.path.dirname(spelled)), os.path.basename(spelled))

    def _absolute(self, path: str) -> str:
        return absolute(path, self._cwd)


def _removes(hunk: Hunk) -> bool:
    match hunk:
        case DeleteHunk() | UpdateHunk(move_path=str()):
            return True
        case _:
            return False
