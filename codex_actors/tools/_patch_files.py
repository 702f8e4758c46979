"""Reading and writing the files of a patch. Blocking; for threads.

A patch is carried out whole or not at all, as far as a file system allows: each file is
replaced in one step, and when a step fails, those before it are undone. Another program
that looks in the middle may see some files changed and others not.

No file is read or written beyond a reach, whoever moves folders and links about meanwhile: each
is looked for just before, its path is asked about, and `open_spot` goes to that path or nowhere.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, assert_never, final

import attrs

from .._errors import CodexActorsError
from ..core import MoveFile, Operation, Reach, RemoveFile, WriteFile
from ._spot import Content, open_spot

MAX_PATCHED_BYTES: Final = 32 * 1024 * 1024
"""The largest file that a patch may touch: fitting one takes eight times its size in memory."""


class FileTrouble(CodexActorsError):
    """A file of a patch cannot be read or written. The message says whether anything changed."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def read_text(path: str, reach: Reach) -> str | None:
    """Return the text of a file with its line endings as they are; None if there is no file.

    Raises:
        FileTrouble: if it is no regular file, too large, not UTF-8, or may not be read.
    """
    try:
        content = read_content(path, reach, most=MAX_PATCHED_BYTES)
        if content.status.st_size > MAX_PATCHED_BYTES:
            raise FileTrouble(
                f"file {path!r} has {content.status.st_size} bytes, and {MAX_PATCHED_BYTES} is the"
                " most that a patch may touch; change it with a command",
                path,
            )
        return content.data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise FileTrouble(f"path {path!r} is not a file", path) from error
    except UnicodeDecodeError as error:
        raise FileTrouble(f"file {path!r} is not text: {error.reason} in UTF-8", path) from error
    except (OSError, ValueError) as error:
        raise FileTrouble(f"cannot read {path!r}: {_reason(error)}", path) from error


def read_content(path: str, reach: Reach, *, most: int | None = None) -> Content:
    """Return what a regular file holds, wherever a link leads within the reach.

    Args:
        path: Absolute.
        reach: What may be read.
        most: Bytes; of a file that is larger, nothing is read.

    Raises:
        OSError: if it cannot be read, or may not.
        ValueError: if it is no path.
    """
    real = os.path.realpath(path)
    if reach.matches(os.path.normpath(path)) or not reach.may_read(real):
        raise PermissionError(errno.EACCES, "Permission denied")
    with open_spot(real) as spot:
        return spot.read(most=most)


def carry_out(
    operations: Iterable[Operation], before: Mapping[str, str | None], reach: Reach
) -> None:
    """Perform all operations, or none.

    Args:
        operations: What to do, in order, with absolute paths.
        before: What each file must still hold, or None where there must be none.
        reach: What may be written.

    Raises:
        FileTrouble: if a file has changed, or a step fails. Steps before it are undone; the
            message names what could not be.
    """
    for path, text in before.items():
        if read_text(path, reach) != text:
            raise FileTrouble(f"{path!r} has changed meanwhile; nothing was written", path)
    work = _Work(reach)
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

    _reach: Reach
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
        target = self._allowed(os.path.realpath(path))
        data = text.encode()
        self._make_folder(os.path.dirname(target))
        old = _find(target)
        style = _find(os.path.realpath(like)) if old is None else old
        with open_spot(target) as spot:
            if old is not None and not spot.is_writable():
                raise PermissionError(0, "the file is read-only")
            spot.replace(data, None if style is None else style.status)
        undo = partial(_unlink, target) if old is None else partial(_restore, target, old)
        self._undo.append((target, undo))

    def _remove(self, path: str) -> None:
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        with open_spot(self._allowed(place)) as spot:
            target = spot.link_target()
            if target is None:
                undo: Callable[[], object] = partial(_restore, place, spot.read())
            else:
                undo = partial(_link, place, target)
            spot.unlink()
        self._undo.append((place, undo))

    def _make_folder(self, path: str) -> None:
        if os.path.isdir(path):
            return
        self._make_folder(os.path.dirname(path))
        with open_spot(self._allowed(path)) as spot:
            spot.make_folder()
        self._undo.append((path, partial(_remove_folder, path)))

    def _allowed(self, path: str) -> str:
        if not self._reach.may_write(path):
            raise PermissionError(errno.EACCES, "the sandbox policy does not allow it")
        return path


def _find(path: str) -> Content | None:
    try:
        with open_spot(path) as spot:
            return spot.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _restore(path: str, content: Content) -> None:
    with open_spot(path) as spot:
        spot.replace(content.data, content.status)


def _link(path: str, target: str) -> None:
    with open_spot(path) as spot:
        spot.link(target)


def _unlink(path: str) -> None:
    with open_spot(path) as spot:
        spot.unlink()


def _remove_folder(path: str) -> None:
    with open_spot(path) as spot:
        spot.remove_folder()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
