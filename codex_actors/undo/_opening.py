"""Making a private repository, and keeping what it is told of the user's up to date. Blocks."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from typing import Final

from .._folders import make_folder
from ._errors import GitFailed
from ._git import PROGRAM, Git, call, plain_environment
from ._places import Place, ignored_by_user
from ._shadow import Shadow, alone_in

# As bytes are: no line ends, no keywords, no encodings, and above all no filters.
_ATTRIBUTES: Final = "* -text -eol -ident -filter -working-tree-encoding -diff -merge\n"


def open_shadow(home: str, place: Place) -> Shadow:
    """Open the private repository of a folder, made if there is none. Blocks.

    Args:
        home: Absolute path of the home directory; repositories are in ``undo/folders`` below it.
        place: The folder.

    Raises:
        GitFailed: if it cannot be made.
    """
    name = hashlib.sha256(place.root.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = os.path.join(home, "undo", "folders", name)
    git = Git(folder=folder, work_tree=place.root, index=os.path.join(folder, "index"))
    shadow = Shadow(place, git)
    make_folder(folder)
    with alone_in(folder):
        if not os.path.exists(os.path.join(folder, "HEAD")):
            _make(folder, place)
        _describe(folder, place)
        _seed(shadow)
    return shadow


def _make(folder: str, place: Place) -> None:
    words = [
        *PROGRAM,
        "init",
        "-q",
        "--bare",
        "--template=",
        f"--object-format={place.form}",
        folder,
    ]
    call(words, cwd=folder, environment=plain_environment(), umask=0o077)


def _describe(folder: str, place: Place) -> None:
    """Say what to leave alone, and where contents are that need not be kept twice."""
    make_folder(os.path.join(folder, "info"))
    make_folder(os.path.join(folder, "objects", "info"))
    lists = [_text(path) for path in (ignored_by_user(), place.exclude) if path is not None]
    lists.append(_own(folder, place.root))
    _write(os.path.join(folder, "info", "exclude"), "\n".join(lists) + "\n")
    _write(os.path.join(folder, "info", "attributes"), _ATTRIBUTES)
    if place.objects is not None:
        _write(os.path.join(folder, "objects", "info", "alternates"), f"{place.objects}\n")


def _own(folder: str, root: str) -> str:
    """Return what keeps the home directory out, if that is below the root."""
    home = os.path.relpath(os.path.realpath(os.path.join(folder, "..", "..", "..")), root)
    return "" if home.startswith("..") else f"/{home}/"


def _seed(shadow: Shadow) -> None:
    """Begin with what the user's repository knows of the files, if it can be read."""
    index, theirs = shadow.git.index, shadow.place.index
    if os.path.exists(index) or theirs is None or not os.path.exists(theirs):
        return
    shutil.copy(theirs, index)
    try:
        shadow.git.run("update-index", "--really-refresh", "-q", check=False)
        shadow.git.run("ls-files", "-s", "-z")
    except GitFailed:
        with suppress(FileNotFoundError):
            os.unlink(index)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(
            os.open(path, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape"
        ) as file:
            file.write(text)
    except OSError as error:
        raise GitFailed(f"{path!r} cannot be written: {error.strerror}") from error
