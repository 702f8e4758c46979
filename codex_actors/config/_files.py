"""The only door of this package to the disk: small files, read whole."""

from __future__ import annotations

import os
import stat

from ._errors import SettingsError

_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def read_text(path: str) -> str | None:
    """Text of a UTF-8 file, without its byte order mark; None if there is no such file.

    Raises:
        SettingsError: ``path`` is a directory, may not be read, or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot be read: {_explain(error)}", source=path) from error
    return _decode(content, path)


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
