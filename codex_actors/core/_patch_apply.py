"""Carry out a patch on texts, and describe what it did.

Invariants, held by ``tests/core/test_patch.py``: ``apply(diff(a, b), a) == b`` where ``b`` ends in
a newline, and a patch that does not fit changes nothing, since nothing here changes anything: the
result is a list of operations for the caller to perform, all or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never, final

import attrs

from ..protocol._changes import AddFile, DeleteFile, FileChange, UpdateFile
from ._diff import unified_diff
from ._patch import (
    AddHunk,
    DeleteHunk,
    Hunk,
    MoveFile,
    Operation,
    Patch,
    PatchError,
    RemoveFile,
    UpdateHunk,
    WriteFile,
)
from ._patch_match import Mismatch, update_text


@final
@attrs.frozen(kw_only=True)
class PatchResult:
    """What a patch that fits comes to."""

    operations: tuple[Operation, ...]
    """To be performed in this order."""
    changes: Mapping[str, FileChange]
    """By resolved path; a moved file under the path that it had."""
    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The text that a model reads after the operations are done."""
        marked = (("A", self.added), ("M", self.modified), ("D", self.deleted))
        lines = [f"{mark} {path}\n" for mark, paths in marked for path in paths]
        return "".join(["Success. Updated the following files:\n", *lines])


def apply_patch(
    patch: Patch,
    read: Callable[[str], str | None],
    *,
    resolve: Callable[[str], str] = lambda path: path,
) -> PatchResult:
    """Return what ``patch`` does to the files that ``read`` shows; nothing is written.

    Each hunk sees what those before it have done, also to its own file.

    Args:
        patch: As `parse_patch` returned it.
        read: Gives the text of a file, with its line endings as they are, or None if there is no
            such file. It is called with resolved paths, once per file.
        resolve: Gives the one name of the file behind a path of the patch, so that two spellings
            are not taken for two files. Operations and changes have resolved paths; the summary
            and errors have the patch's own.

    Raises:
        PatchError: The patch is empty, or a hunk does not fit: the error says which hunk and what
            it expected, and has the operations of the hunks before it.
    """
    if not patch.hunks:
        raise PatchError("the patch is empty: it has no hunk")
    files = _Files(read, resolve)
    for number, hunk in enumerate(patch.hunks, 1):
        try:
            files.apply(hunk)
        except Mismatch as mismatch:
            raise PatchError(
                f"hunk {number} does not fit {hunk.path!r}: {mismatch}",
                hunk=number,
                path=hunk.path,
                expected=mismatch.expected,
                done=tuple(files.operations),
            ) from None
    return _result(patch, files)


@attrs.define(eq=False)
class _Files:
    """The files as the hunks so far leave them, over the files as they are."""

    _read: Callable[[str], str | None]
    _resolve: Callable[[str], str]
    operations: list[Operation] = attrs.field(factory=list, init=False)
    changes: dict[str, FileChange] = attrs.field(factory=dict, init=False)
    _before: dict[str, str | None] = attrs.field(factory=dict, init=False)
    _now: dict[str, str | None] = attrs.field(factory=dict, init=False)

    def apply(self, hunk: Hunk) -> None:
        path = self._resolve(hunk.path)
        match hunk:
            case AddHunk(text=text):
                self._load(path)
                self._put(WriteFile(path, text), AddFile(text), {path: text})
            case DeleteHunk():
                old = self._existing(path)
                self._put(RemoveFile(path), DeleteFile(old), {path: None})
            case UpdateHunk():
                self._update(path, hunk)
            case _:
                assert_never(hunk)

    def _update(self, path: str, hunk: UpdateHunk) -> None:
        old = self._existing(path)
        text = update_text(old, hunk.chunks)
        target = path if hunk.move_path is None else self._resolve(hunk.move_path)
        diff = unified_diff(old, text)
        if target == path:
            self._put(WriteFile(path, text), UpdateFile(diff), {path: text})
            return
        self._load(target)
        moved = UpdateFile(diff, target)
        self._put(MoveFile(path, target, text), moved, {path: None, target: text})

    def _put(self, operation: Operation, change: FileChange, now: Mapping[str, str | None]) -> None:
        path = operation.path
        self.operations.append(operation)
        self._now |= now
        if path not in self.changes:
            self.changes[path] = change
            return
        del self.changes[path]  # it moves to the end, where its last change is
        whole = self._since_the_start(path, change)
        if whole is not None:
            self.changes[path] = whole

    def _since_the_start(self, path: str, change: FileChange) -> FileChange | None:
        """Return what several hunks did to one file together, or None for nothing."""
        before, now = self._before[path], self._now[path]
        if isinstance(change, UpdateFile) and change.move_path is not None:
            text = self._now[change.move_path] or ""
            return UpdateFile(unified_diff(before or "", text), change.move_path)
        if now is None:
            return None if before is None else DeleteFile(before)
        return AddFile(now) if before is None else UpdateFile(unified_diff(before, now))

    def _existing(self, path: str) -> str:
        text = self._load(path)
        if text is None:
            raise Mismatch("there is no such file")
        return text

    def _load(self, path: str) -> str | None:
        if path not in self._now:
            self._now[path] = self._before[path] = self._read(path)
        return self._now[path]


def _result(patch: Patch, files: _Files) -> PatchResult:
    return PatchResult(
        operations=tuple(files.operations),
        changes=files.changes,
        added=tuple(hunk.path for hunk in patch.hunks if isinstance(hunk, AddHunk)),
        modified=tuple(
            hunk.move_path or hunk.path for hunk in patch.hunks if isinstance(hunk, UpdateHunk)
        ),
        deleted=tuple(hunk.path for hunk in patch.hunks if isinstance(hunk, DeleteHunk)),
    )
