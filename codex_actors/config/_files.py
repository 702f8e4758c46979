"""The only door of this package to the disk: small files, read whole, and the beginnings of others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final, final

import attrs

from ._errors import SettingsError

MOST_BYTES: Final = 16 * 1024 * 1024
"""No file that people write for this program is larger; a device would never end."""

_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def read_text(path: str) -> str | None:
    """Text of a UTF-8 file, without its byte order mark; None if there is no such file.

    Raises:
        SettingsError: ``path`` is a directory, may not be read, is too large for a file
            that somebody wrote, or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot be read: {_explain(error)}", source=path) from error
    if len(content) > MOST_BYTES:
        raise SettingsError(f"is larger than {MOST_BYTES >> 20} MiB", source=path)
    return _decode(content, path)


def list_names(directory: str) -> list[str]:
    """What is in a directory, sorted; nothing if that cannot be told."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def list_files(directory: str, suffix: str) -> list[str]:
    """Paths of everything below a directory whose name ends so, sorted; nothing if it is none."""
    walked = os.walk(directory)
    paths = (os.path.join(place, name) for place, _, names in walked for name in names)
    return sorted(path for path in paths if path.endswith(suffix))


def _explain(error: OSError | ValueError) -> str:
    # ValueError: the name has a null byte, which no file system takes.
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return (reason or type(error).__name__).lower()


def _decode(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            f"line {line} is not UTF-8 (byte 0x{content[error.start]:02x}); save the file as UTF-8",
            source=path,
        ) from error


def is_open_to_others(path: str) -> bool:
    """Whether users other than the owner may read the file; False if it has gone."""
    try:
        return bool(os.stat(path).st_mode & _OTHERS_READ)
    except OSError:
        return False


@final
@attrs.frozen(kw_only=True)
class Excerpt:
    """The beginning of a file of text that somebody else wrote."""

    path: str
    text: str = ""
    """What is not UTF-8 in it is shown as U+FFFD."""
    size: int = 0
    """Bytes that were read."""
    is_cut: bool = False
    is_damaged: bool = False
    """True: there were bytes that are not UTF-8, beside those that the cut made so."""
    problem: str | None = None
    """Why it could not be read."""

    def warnings(self) -> Iterator[str]:
        """What people should know before they rely on the text."""
        if self.problem is not None:
            yield f"{self.path}: cannot be read: {self.problem}"
        if self.is_damaged:
            yield f"{self.path}: is not UTF-8; what does not fit is shown as U+FFFD"
        if self.is_cut:
            yield f"{self.path}: is too long; only its first {self.size} bytes are used"


def is_file(path: str) -> bool:
    """Whether there is a regular file, or may be one behind what must not be looked at."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def read_excerpt(path: str, limit: int) -> Excerpt:
    """Read at most ``limit`` bytes of a file; says what went wrong, and never waits for a writer."""
    try:
        # Without O_NONBLOCK, opening what has become a FIFO meanwhile would wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        return Excerpt(path=path, problem=_explain(error))
    kept, is_cut = content[:limit], len(content) > limit
    return Excerpt(
        path=path,
        text=kept.decode("utf-8", "replace"),
        size=len(kept),
        is_cut=is_cut,
        is_damaged=_is_damaged(kept, is_cut=is_cut),
    )


def _is_damaged(content: bytes, *, is_cut: bool) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character that the cut went through is no fault of the file.
        return not (is_cut and error.reason == "unexpected end of data")
    return False
