"""A name in a folder that is held open, so that nobody can swap what is above it.

Whether a file may be touched is decided by its path. Between that and the touching, somebody
could put a link in the place of one of the folders above it. So a path is walked folder by
folder, and no link is followed on the way: its links have to be resolved before, and if it has
some all the same, they are new. What was decided for the path then holds for the file.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, final

import attrs

# Folders only have to be passed through, for which not even reading is needed, where possible.
_PASS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without blocking, so that a pipe that nobody writes to is not waited for.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@final
@attrs.frozen
class Content:
    """A file as it was."""

    data: bytes
    status: os.stat_result


@final
@attrs.frozen
class Spot:
    """Where a file is, or could be. All methods block, and raise OSError."""

    folder: int
    """A descriptor of the folder."""
    name: str

    def read(self, *, most: int | None = None) -> Content:
        """Read a regular file.

        Args:
            most: Bytes; of a file that is larger, nothing is read.
        """
        descriptor = os.open(self.name, _READ, dir_fd=self.folder)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "it is not a file")
            too_large = most is not None and status.st_size > most
            return Content(b"" if too_large else file.read(), status)

    def replace(self, data: bytes, style: os.stat_result | None) -> None:
        """Put a new file here in one step, with the owner and the mode of an old one."""
        temporary = f".codex-patch-{secrets.token_hex(8)}"
        # Nobody else may read a private file while it is being written.
        mode = 0o666 if style is None else 0o600
        descriptor = os.open(temporary, _MAKE, mode, dir_fd=self.folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                if style is not None:
                    _dress(descriptor, style)
            os.replace(temporary, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except BaseException:
            os.unlink(temporary, dir_fd=self.folder)
            raise

    def is_writable(self) -> bool:
        return os.access(self.name, os.W_OK, dir_fd=self.folder)

    def link_target(self) -> str | None:
        """Where the link here leads; None if there is none."""
        try:
            return os.readlink(self.name, dir_fd=self.folder)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def link(self, target: str) -> None:
        os.symlink(target, self.name, dir_fd=self.folder)

    def unlink(self) -> None:
        os.unlink(self.name, dir_fd=self.folder)

    def make_folder(self) -> None:
        os.mkdir(self.name, dir_fd=self.folder)

    def remove_folder(self) -> None:
        os.rmdir(self.name, dir_fd=self.folder)


@contextmanager
def open_spot(path: str) -> Iterator[Spot]:
    """Hold the folder of a path open; the path is absolute, and has no link above its name.

    Raises:
        OSError: if the folder cannot be reached, or a link stands where none was.
    """
    *above, name = path.split("/")[1:]
    folder = os.open("/", _PASS)
    try:
        for part in above:
            inner = os.open(part, _PASS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield Spot(folder, name or ".")
    finally:
        os.close(folder)


def _dress(descriptor: int, style: os.stat_result) -> None:
    """Give a new file the owner, as far as we may, and the mode of an old one."""
    with suppress(PermissionError):
        os.fchown(descriptor, style.st_uid, style.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(style.st_mode))
