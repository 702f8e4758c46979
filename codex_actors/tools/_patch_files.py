"""Reading and writing the files of a patch. Blocking; for threads.

A patch is carried out whole or not at all, as far as a file system allows: each file is
replaced in one step, and when a step fails, those before it are undone. Another program
that looks in the middle may see some files changed and others not.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, assert_never, final

import attrs

from .._errors import CodexActorsError
from ..core import MoveFile, Operation, RemoveFile, WriteFile

MAX_PATCHED_BYTES: Final = 32 * 1024 * 1024
"""The largest file that a patch may touch: fitting one takes eight times its size in memory."""


class FileTrouble(CodexActorsError):
    """A file of a patch cannot be read or written. The message says whether anything changed."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def read_text(path: str) -> str | None:
    """Return the text of a file with its line endings as they are; None if there is no file.

    Raises:
        FileTrouble: if it is no regular file, too large, not UTF-8, or may not be read.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise FileTrouble(f"path {path!r} is not a file", path)
        if status.st_size > MAX_PATCHED_BYTES:
            raise FileTrouble(
                f"file {path!r} has {status.st_size} bytes, and {MAX_PATCHED_BYTES} is the most"
                " that a patch may touch; change it with a command",
                path,
            )
        with open(path, "rb") as file:
            return file.read().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise FileTrouble(f"file {path!r} is not text: {error.reason} in UTF-8", path) from error
    except (OSError, ValueError) as error:
        raise FileTrouble(f"cannot read {path!r}: {_reason(error)}", path) from error


def carry_out(operations: Iterable[Operation], before: Mapping[str, str | None]) -> None:
    """Perform all operations, or none.

    Args:
        operations: What to do, in order, with absolute paths.
        before: What each file must still hold, or None where there must be none.

    Raises:
        FileTrouble: if a file has changed, or a step fails. Steps before it are undone; the
            message names what could not be.
    """
    for path, text in before.items():
        if read_text(path) != text:
            raise FileTrouble(f"{path!r} has changed meanwhile; nothing was written", path)
    work = _Work()
    for operation in operations:
        try:
            work.perform(operation)
        except (OSError, ValueError) as error:
            where = operation.destination if isinstance(operation, MoveFile) else operation.path
            message = f"Failed to write file {where}: {_reason(error)}; {work.undo_all()}"
            raise FileTrouble(message, where) from error


@final
@attrs.define(eq=False)
class _Work:
    """What was done so far, and how to undo it."""

    _undo: list[tuple[str, Callable[[], object]]] = attrs.field(factory=list, init=False)

    def perform(self, operation: Operation) -> None:
        match operation:
            case WriteFile(path, text):
                self._write(path, text, like=path)
            case RemoveFile(path):
                self._remove(path)
            case MoveFile(path, destination, text):
                self._write(destination, text, like=path)
                self._remove(path)
            case _:
                assert_never(operation)

    def undo_all(self) -> str:
        """Undo everything, the last step first; return how that went."""
        stuck = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                stuck.append(path)
        if stuck:
            return f"could not undo the changes to {', '.join(map(repr, stuck))}"
        return "all changes before it were undone" if self._undo else "nothing was changed"

    def _write(self, path: str, text: str, *, like: str) -> None:
        """Make ``path``, or what it links to, hold ``text``; keep its mode, or that of ``like``."""
        target = os.path.realpath(path)
        self._make_directory(os.path.dirname(target))
        old = _Kept.of(target)
        style = _Kept.of(os.path.realpath(like)) if old is None else old
        if old is not None and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        _replace(target, text.encode(), style)
        undo = partial(os.unlink, target) if old is None else partial(old.restore, target)
        self._undo.append((target, undo))

    def _remove(self, path: str) -> None:
        if os.path.islink(path):
            undo: Callable[[], object] = partial(os.symlink, os.readlink(path), path)
        else:
            old = _Kept.of(path)
            undo = partial(old.restore, path) if old is not None else lambda: None
        os.unlink(path)
        self._undo.append((path, undo))

    def _make_directory(self, path: str) -> None:
        if os.path.isdir(path):
            return
        self._make_directory(os.path.dirname(path))
        os.mkdir(path)
        self._undo.append((path, partial(os.rmdir, path)))


@final
@attrs.frozen
class _Kept:
    """A file as it was."""

    data: bytes
    status: os.stat_result

    @classmethod
    def of(cls, path: str) -> _Kept | None:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a file")
        with open(path, "rb") as file:
            return cls(file.read(), status)

    def restore(self, path: str) -> None:
        _replace(path, self.data, self)


def _replace(path: str, data: bytes, style: _Kept | None) -> None:
    """Put a new file in the place of ``path`` in one step."""
    temporary = os.path.join(os.path.dirname(path), f".codex-patch-{secrets.token_hex(8)}")
    # Nobody else may read a private file while it is being written.
    mode = 0o666 if style is None else 0o600
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if style is not None:
            _dress(temporary, style.status)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _dress(path: str, status: os.stat_result) -> None:
    """Give a new file the owner, as far as we may, and the mode of an old one."""
    with suppress(PermissionError):
        os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
