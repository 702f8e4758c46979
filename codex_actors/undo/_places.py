"""Where the files are that a turn may change, and what the user's repository says of them."""

from __future__ import annotations

import os
from typing import final

import attrs

from ._errors import GitFailed
from ._git import call, plain_environment


@final
@attrs.frozen(kw_only=True)
class Place:
    """A folder whose files are kept together."""

    root: str
    repository: str | None = None
    """The user's git folder, if there is one: only looked at."""
    objects: str | None = None
    """Where that keeps contents."""
    index: str | None = None
    """What it knows of the files."""
    exclude: str | None = None
    """Its own list of files to be left alone."""
    form: str = "sha1"
    """How it names contents."""


def find_place(directory: str) -> Place:
    """Return the repository that a directory is in, or the directory alone. Blocks."""
    names = ("--show-toplevel", "--absolute-git-dir", "--show-object-format")
    paths = ("objects", "index", "info/exclude")
    words = [*names, "--path-format=absolute", *(w for path in paths for w in ("--git-path", path))]
    try:
        said = call(
            ["git", "rev-parse", *words], cwd=directory, environment=plain_environment()
        ).decode("utf-8", "surrogateescape")
    except GitFailed:
        return Place(root=os.path.realpath(directory))
    root, repository, form, objects, index, exclude = said.splitlines()
    return Place(
        root=root, repository=repository, objects=objects, index=index, exclude=exclude, form=form
    )


def ignored_by_user() -> str | None:
    """Return the file in which the user lists what no repository is to see. Blocks."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "config", "--global", "--type=path", "--get", "core.excludesFile"]
    try:
        named = call(words, cwd="/", environment=environment, check=False)
    except GitFailed:
        return None
    if path := named.decode("utf-8", "surrogateescape").strip():
        return path
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    usual = os.path.join(base, "git", "ignore")
    return usual if os.path.exists(usual) else None
