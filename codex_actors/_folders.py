"""Folders of the program's own, below the home directory."""

from __future__ import annotations

import contextlib
import os
from typing import Final

FOLDER_MODE: Final = 0o700
"""What users and their files say is nobody else's to read."""


def make_folder(path: str) -> None:
    """Make a folder and those above it that are missing, all of them private.

    `os.makedirs` gives its mode to the last one only. Blocking: call it in a thread.

    Raises:
        OSError: if one of them cannot be made.
    """
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(above):
        make_folder(above)
    # Another program may have made it meanwhile; a file in its place shows when it is used.
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, FOLDER_MODE)
