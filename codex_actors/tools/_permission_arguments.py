"""How models spell permissions."""

from __future__ import annotations

from typing import Annotated, final

import attrs

from ..protocol import Access, ExtraPermissions, PathPlace, PermissionEntry
from ._limits import absolute


@final
@attrs.frozen
class _Network:
    enabled: Annotated[bool | None, "True: connect to other machines."] = None


@final
@attrs.frozen
class _Files:
    read: Annotated[tuple[str, ...] | None, "Paths to read, with all below."] = None
    write: Annotated[tuple[str, ...] | None, "Paths to write, with all below."] = None


@final
@attrs.frozen
class Permissions:
    """Permissions, as a model asks for them."""

    network: _Network | None = None
    file_system: _Files | None = None

    def resolve(self, cwd: str) -> ExtraPermissions:
        """Return what is asked for, with relative paths beginning at ``cwd``."""
        files = self.file_system or _Files()
        wished: tuple[tuple[Access, tuple[str, ...] | None], ...] = (
            ("read", files.read),
            ("write", files.write),
        )
        return ExtraPermissions(
            network=bool(self.network and self.network.enabled),
            files=tuple(
                PermissionEntry(place=PathPlace(absolute(path, cwd)), access=access)
                for access, paths in wished
                for path in paths or ()
            ),
        )
