"""Git, with a repository of our own beside somebody's files. Blocking: to be called in a thread.

The files are not trusted: their repository's configuration, its hooks, and filters that its
attributes name could run programs. So nothing of theirs is read but ``.gitignore``, and nothing
of the user's but which files they never want to see in git.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, final

import attrs

from ._errors import GitFailed

SECONDS: Final = 120.0
"""How long one call of git may take; a first look at a large project takes some seconds."""
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "core.sharedRepository=0600",  # what files were is nobody else's to read
    "gc.auto=0",
    "submodule.recurse=false",
    "index.sparse=false",
)
PROGRAM: Final = ("git", *(word for setting in _SETTINGS for word in ("-c", setting)))
"""Git, and how it is to behave."""


@final
@attrs.frozen(kw_only=True)
class Git:
    """A repository of our own, and the files that it looks at."""

    folder: str
    """The repository."""
    work_tree: str
    """Where the files are."""
    index: str
    """What is known of them."""

    def run(
        self, *words: str, data: bytes = b"", index: str | None = None, check: bool = True
    ) -> bytes:
        """Run a command of git; return what it prints.

        Raises:
            GitFailed: if it fails, is missing, or takes too long.
        """
        command = [
            *PROGRAM,
            f"--git-dir={self.folder}",
            f"--work-tree={self.work_tree}",
            *words,
        ]
        environment = {**plain_environment(), "GIT_INDEX_FILE": index or self.index}
        return call(command, cwd=self.work_tree, environment=environment, data=data, check=check)


def plain_environment() -> dict[str, str]:
    """The environment, without what would lead git elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def call(
    command: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    data: bytes = b"",
    check: bool = True,
    umask: int = -1,
) -> bytes:
    """Run git; return what it prints.

    Args:
        command: The words.
        cwd: Where.
        environment: All of it.
        data: What it reads.
        check: Whether failing is an error.
        umask: For files that it makes; the user's by default.

    Raises:
        GitFailed: if it fails, is missing, or takes too long.
    """
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            input=data,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            umask=umask,
        )
    except FileNotFoundError as error:
        raise GitFailed("git is not installed, and what turns change is kept with it") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git took more than {SECONDS:g} seconds below {cwd!r}") from error
    except OSError as error:
        raise GitFailed(f"git cannot be started below {cwd!r}: {error.strerror}") from error
    if check and done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise GitFailed(f"git failed below {cwd!r}: {said or f'status {done.returncode}'}")
    return done.stdout
