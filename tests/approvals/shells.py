"""Real shells that say what they run, instead of running it."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import attrs

from codex_actors.core import Words

# Every name of a program leads to the handler, which tells the words that it got.
_BASH: Final = """
exec 9>&1
command_not_found_handle() { printf '%s\\0' "$#" "$@" >&9; [[ $STATUS = 0 ]]; }
for name in $(compgen -b); do [ "$name" = printf ] || names="$names $name"; done
enable -n $names
"""
_ZSH: Final = """
exec 9>&1
command_not_found_handler() { print -rN -- $# "$@" >&9; [[ $STATUS = 0 ]] }
disable -- ${(k)builtins:#(print|disable)}
disable disable
"""
_RECORDER: Final = """#!/bin/sh
printf '%s\\0' "$(($# + 1))" "${0##*/}" "$@" >>"$RECORD"
exit "$STATUS"
"""


def find_shells(*names: str) -> tuple[str, ...]:
    """Those of the shells that this machine has."""
    return tuple(name for name in names if shutil.which(name, path="/bin:/usr/bin"))


@final
@attrs.frozen
class RealShell:
    """A shell in a directory with files that patterns would find; nothing else is in reach."""

    name: str
    place: Path
    """Made by `furnish`."""

    def furnish(self) -> RealShell:
        work = self.place / "work"
        work.mkdir(parents=True)
        for name in ("a", "b", "ab", "1", "-", "é"):
            (work / name).touch()
        (self.place / "preface").write_text(_BASH)
        (self.place / ".zshenv").write_text(_ZSH)
        (self.place / "programs").mkdir()
        return self

    def files(self) -> list[str]:
        return sorted(path.name for path in (self.place / "work").iterdir())

    def knows(self, names: Sequence[str]) -> bool:
        """Whether it tells of these; dash runs its own commands, and paths are not looked up."""
        if any("/" in name for name in names):
            return False
        return self.name != "dash" or all(
            name.strip(".") and name not in _OF_DASH for name in names
        )

    def run(self, script: str, status: int, names: Sequence[str]) -> list[Words]:
        """The commands that it runs, if all of them end with this status."""
        record = self.place / "record"
        record.write_bytes(b"")
        for name in names if self.name == "dash" else ():
            program = self.place / "programs" / name
            if not program.exists():
                program.write_text(_RECORDER)
                program.chmod(0o755)
        done = subprocess.run(
            [f"/bin/{self.name}", "-c", script],
            cwd=self.place / "work",
            env=self._environment(status, record),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        assert b"" == done.stderr
        return _split(done.stdout or record.read_bytes())

    def _environment(self, status: int, record: Path) -> dict[str, str]:
        return {
            "BASH_ENV": str(self.place / "preface"),
            "ZDOTDIR": str(self.place),
            "RECORD": str(record),
            "STATUS": str(status),
            "PATH": str(self.place / "programs") if self.name == "dash" else "/nowhere",
            "HOME": "/home/somebody",
            "LC_ALL": "C.UTF-8",
        }


_OF_DASH: Final = frozenset(
    [
        *(":", "[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo", "eval"),
        *("exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "local"),
        *("printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "times", "trap"),
        *("true", "type", "ulimit", "umask", "unalias", "unset", "wait"),
    ]
)


def _split(record: bytes) -> list[Words]:
    words = record.decode().split("\0")[:-1]
    commands = []
    while words:
        count = int(words[0])
        commands.append(tuple(words[1 : count + 1]))
        del words[: count + 1]
    return commands


def check_same(shell: RealShell, script: str, read: Sequence[Words]) -> None:
    """Fail unless the shell runs these commands, in this order, and no others."""
    names = [words[0] for words in read]
    piped = "|" in script
    if not shell.knows(names) or (piped and any("\n" in word for words in read for word in words)):
        # The commands of a pipe run at once, and bash writes line by line: they would be mixed up.
        return
    # After "&&" only what succeeds goes on, after "||" only what fails: both runs see all.
    runs = [shell.run(script, status, names) for status in (0, 1)]

    for run in runs:
        assert Counter(run) <= Counter(read)
        assert piped or _is_within(run, read)
    assert set(read) == set(runs[0]) | set(runs[1])


def _is_within(run: Sequence[Words], read: Sequence[Words]) -> bool:
    rest = iter(read)
    return all(words in rest for words in run)
