"""What can go wrong with taking back."""

from __future__ import annotations

from collections.abc import Sequence

from .._errors import CodexActorsError


class UndoError(CodexActorsError):
    """Files cannot be kept for taking back, or cannot be taken back."""


class GitFailed(UndoError):
    """Git is missing, or did not do what it was asked."""


class NothingToUndo(UndoError):
    """No turn of the thread changed a file that is still changed."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"no turn of the thread {thread_id} changed files, or all of it was taken back"
        )


class TooMuchToKeep(UndoError):
    """There are more files than can be kept at each turn."""

    def __init__(self, root: str, what: str) -> None:
        super().__init__(
            f"what changes below {root!r} cannot be taken back: {what}; name what is generated"
            " in .gitignore, or work in a folder of the project's own"
        )


class ChangedSince(UndoError):
    """Somebody else has changed the same files since."""

    def __init__(self, root: str, paths: Sequence[str]) -> None:
        shown = ", ".join(paths[:8]) + (f" and {len(paths) - 8} more" if len(paths) > 8 else "")
        super().__init__(
            f"these files below {root!r} have changed since that turn: {shown}; nothing was taken"
            " back. Put them aside, or undo with --force, which loses those changes"
        )
        self.paths = tuple(paths)


class ContentGone(UndoError):
    """What the files were is kept nowhere any more."""

    def __init__(self, root: str) -> None:
        super().__init__(
            f"the earlier content of files below {root!r} is gone: the repository that had it was"
            " pruned or removed; nothing was taken back"
        )
