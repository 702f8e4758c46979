"""How models spell permissions."""

from __future__ import annotations

import os.path
from typing import Annotated, final

import attrs
import trio

from ..protocol import Access, ExtraPermissions, PathPlace, PermissionEntry


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


async def resolve_permissions(permissions: Permissions, cwd: str) -> ExtraPermissions:
    """Return what is asked for, with paths as they lead now from ``cwd``.

    Somebody is asked about the place, not about a name that a link can give to another.

    Raises:
        ValueError: one of them is no path.

    Cancellation: nothing has happened.
    """
    return await trio.to_thread.run_sync(_resolve, permissions, cwd, abandon_on_cancel=True)


def _resolve(permissions: Permissions, cwd: str) -> ExtraPermissions:
    files = permissions.file_system or _Files()
    wished: tuple[tuple[Access, tuple[str, ...] | None], ...] = (
        ("read", files.read),
        ("write", files.write),
    )
    return ExtraPermissions(
        network=bool(permissions.network and permissions.network.enabled),
        files=tuple(
            PermissionEntry(place=PathPlace(_real(path, cwd)), access=access)
            for access, paths in wished
            for path in paths or ()
        ),
    )


def _real(path: str, cwd: str) -> str:
    try:
        return os.path.realpath(os.path.join(cwd, path))
    except ValueError as error:
        raise ValueError(f"{path!r} is no path: {error}") from error
