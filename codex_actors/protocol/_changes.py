"""What one patch did to one file, as clients are told."""

from __future__ import annotations

from typing import TypeAlias, final

import attrs


@final
@attrs.frozen
class AddFile:
    """The file is new, or was overwritten whole."""

    content: str
    """The whole text of the file after the change."""


@final
@attrs.frozen
class DeleteFile:
    content: str
    """The whole text that the file had."""


@final
@attrs.frozen
class UpdateFile:
    unified_diff: str
    """Hunks with one line of context and no ``---``/``+++`` header; empty if no line changed."""
    move_path: str | None = None
    """Where the file is now, if it moved."""


FileChange: TypeAlias = AddFile | DeleteFile | UpdateFile
