"""A private repository beside a folder: keeps what its files are, and puts it back.

Nothing of it is in the folder, and nothing in the user's repository is written: not its index,
not its objects, no ref, no stash. Contents that the user's repository has already are read from
there; so the first look at a large project costs no more than `git status`.

What git does not see is not kept: ignored files, empty folders, owners and dates. Files that are
larger than `LARGEST`, and unknown to the user's repository, are left alone as well.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Final, final

import attrs

from ._errors import GitFailed, TooMuchToKeep
from ._git import Git
from ._places import Place

LARGEST: Final = 10 * 1024 * 1024
"""Bytes of a file that is kept although the user's repository does not know it."""
MOST_FILES: Final = 50_000
"""Files that are looked into at one turn."""
MOST_BYTES: Final = 512 * 1024 * 1024
"""Bytes that are read at one turn."""
_LINK: Final = "160000"


@final
@attrs.frozen
class Entry:
    """What a path is: a file, a program or a link, and its content's name."""

    mode: str
    content: str


@final
@attrs.frozen
class Seen:
    """What a folder's files were at some moment."""

    tree: str
    nested: tuple[str, ...]
    """Repositories inside, relative to the folder: each is kept for itself."""


@final
@attrs.frozen
class Shadow:
    """The private repository of one folder. Made by `_opening.open_shadow`. All of it blocks."""

    place: Place
    git: Git
    most_files: int = MOST_FILES

    def look(self) -> Seen:
        """Keep what the files are now.

        Raises:
            GitFailed: if git does not do it.
            TooMuchToKeep: if there are too many of them.
        """
        with alone_in(self.git.folder):
            try:
                return self._look()
            except GitFailed:
                # A content that the index counts on may be gone from the user's repository.
                with suppress(FileNotFoundError):
                    os.unlink(self.git.index)
                return self._look()

    def _look(self) -> Seen:
        stale = self._names("-m", "-d", "-o", "--exclude-standard") | self._names("-u")
        nested = {name for name in stale if name.endswith("/")}
        links = {path for path, mode in self._modes() if mode == _LINK}
        self._take_in(sorted(stale - nested - links))
        tree = self.git.run("write-tree").decode().strip()
        return Seen(tree, tuple(sorted({name.rstrip("/") for name in nested} | links)))

    def differences(self, before: str, after: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Return what each path that differs was, and is; None: it was not there."""
        said = self.git.run("diff-tree", "-r", "-z", "--no-renames", before, after)
        words = said.decode("utf-8", "surrogateescape").split("\0")[:-1]
        found: dict[str, tuple[Entry | None, Entry | None]] = {}
        for facts, path in zip(words[::2], words[1::2], strict=True):
            old_mode, new_mode, old, new, _ = facts.lstrip(":").split()
            if _LINK not in (old_mode, new_mode):
                found[path] = _entry(old_mode, old), _entry(new_mode, new)
        return found

    def put(self, now: str, changes: dict[str, Entry | None]) -> None:
        """Make paths what they were; the other files are as `look` has just seen them.

        Git does the writing: it follows no link out of the folder, and changes nothing if a
        file has changed since `look`.

        Raises:
            GitFailed: if it does not do it.
        """
        with alone_in(self.git.folder), tempfile.TemporaryDirectory(dir=self.git.folder) as folder:
            index = os.path.join(folder, "index")
            shutil.copy(self.git.index, index)
            self.git.run("update-index", "-z", "--index-info", data=_info(changes), index=index)
            target = self.git.run("write-tree", index=index).decode().strip()
        self.git.run("read-tree", "-m", "-u", now, target)

    def has(self, contents: Iterable[str]) -> bool:
        """Whether all these contents are still kept somewhere."""
        names = "".join(f"{name}\n" for name in contents).encode()
        said = self.git.run("cat-file", "--batch-check=%(objecttype)", data=names)
        return all(line == b"blob" for line in said.splitlines())

    def _names(self, *words: str) -> set[str]:
        said = self.git.run("ls-files", "-z", *words).decode("utf-8", "surrogateescape")
        # Facts and a tab stand before a path that is in a merge.
        return {line.partition("\t")[2] or line for line in said.split("\0") if line}

    def _modes(self) -> list[tuple[str, str]]:
        said = self.git.run("ls-files", "-s", "-z").decode("utf-8", "surrogateescape")
        lines = (line.partition("\t") for line in said.split("\0") if line)
        return [(path, facts.split()[0]) for facts, _, path in lines]

    def _take_in(self, names: Sequence[str]) -> None:
        if len(names) > self.most_files:
            raise TooMuchToKeep(self.place.root, f"{len(names):,} files at once")
        known = {path for path, _ in self._modes()}
        sizes = {name: _length(os.path.join(self.place.root, name)) for name in names}
        taken = [name for name in names if sizes[name] <= LARGEST or name in known]
        size = sum(sizes[name] for name in taken)
        if size > MOST_BYTES:
            raise TooMuchToKeep(self.place.root, f"{size / 1e6:,.0f} MB at once")
        if taken:
            data = "".join(f"{name}\0" for name in taken).encode("utf-8", "surrogateescape")
            self.git.run(
                "update-index", "--add", "--remove", "--replace", "-z", "--stdin", data=data
            )


@contextmanager
def alone_in(folder: str) -> Generator[None, None, None]:
    """Let one at a time work here: agents share folders, and so do programs."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, "alone"), flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _info(changes: dict[str, Entry | None]) -> bytes:
    lines = []
    for path, entry in changes.items():
        if entry is None:
            lines.append(f"0 {'0' * 40}\t{path}\0")
        else:
            lines.append(f"{entry.mode} {entry.content}\t{path}\0")
    return "".join(lines).encode("utf-8", "surrogateescape")


def _entry(mode: str, content: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, content)


def _length(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
