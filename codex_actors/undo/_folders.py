"""Folders below the home directory. Blocks."""

from __future__ import annotations

import os
from contextlib import suppress

from ._errors import UndoError


def make_private_folder(path: str) -> None:
    """Make a folder and those above it that are missing, all of them private.

    Raises:
        UndoError: if one of them cannot be made.
    """
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(above):
        make_private_folder(above)
    try:
        # Another program may have made it meanwhile.
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
    except OSError as error:
        raise UndoError(f"{path!r} cannot be made: {error.strerror}") from error
