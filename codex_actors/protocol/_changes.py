"""What happened to a file."""

from __future__ import annotations

from typing import TypeAlias

import attrs


@attrs.frozen
class AddFile:
    """A file was created, or written over, with this content."""

    content: str


@attrs.frozen
class DeleteFile:
    """A file with this content was removed."""

    content: str


@attrs.frozen
class UpdateFile:
    """A file was changed, and moved if ``move_path`` says where to."""

    unified_diff: str
    move_path: str | None = None


FileChange: TypeAlias = AddFile | DeleteFile | UpdateFile
