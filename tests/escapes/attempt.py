"""What an attempt to escape is: data, and nothing that runs."""

from __future__ import annotations

import textwrap
from typing import Final, Literal, TypeAlias, final

import attrs

Breaks: TypeAlias = Literal["read-only", "workspace-write", "workspace-write, network", "deny-read"]
"""The policy that an attempt is to break."""
Goal: TypeAlias = Literal[
    "changed", "read", "sent", "claimed", "harmed", "left", "overrun", "terminal"
]
"""What counts as an escape:

* ``changed``: something outside, or protected inside, was changed, made or removed;
* ``read``: the script printed what it must not read;
* ``sent``: a listener outside got a connection or bytes;
* ``claimed``: the script says it did what leaves no trace that could be looked at;
* ``harmed``: a process outside was killed, stopped or altered;
* ``left``: a process is alive after its owner has ended all it knew of;
* ``overrun``: it goes on for longer than its limit, though its owner ends it;
* ``terminal``: bytes came to a person's terminal.
"""
Language: TypeAlias = Literal["sh", "python"]
User: TypeAlias = Literal["root", "nobody"]
Ground: TypeAlias = Literal["repository", "worktree", "empty"]

EVERYBODY: Final[tuple[User, ...]] = ("root", "nobody")
ROOT: Final[tuple[User, ...]] = ("root",)
NOBODY: Final[tuple[User, ...]] = ("nobody",)


@final
@attrs.frozen(kw_only=True)
class Attempt:
    """One way out of a sandbox."""

    number: int
    name: str
    breaks: Breaks
    goal: Goal
    script: str = attrs.field(converter=textwrap.dedent)
    language: Language = "sh"
    users: tuple[User, ...] = EVERYBODY
    """Whose attempt makes sense: not root's where root may do it anyway, and so on."""
    ground: Ground = "repository"
    """What the workspace is."""
    folder: str = "."
    """Where in it the command works, and all it is asked to work on is."""
    linger: float = 0.0
    """Seconds after the script's end in which what it left behind may still act."""
    limit: float = 30.0
    """Seconds within which it must have ended once its owner ends it."""
    needs: str | None = None
    """What some machines lack; without it the attempt fails everywhere, and does not count."""

    def __str__(self) -> str:
        return f"{self.number:03} {self.name}"

    def uses(self, name: str) -> bool:
        """Whether the script looks at an environment variable."""
        return name in self.script

    @property
    def is_plain(self) -> bool:
        """Whether it is the same attempt where a workspace has nothing to protect or to hide."""
        kept = (".git", ".codex", ".agents", "$EXTRA")
        return self.breaks.startswith("workspace-write") and not any(map(self.uses, kept))

    @property
    def lasts(self) -> bool:
        """Whether it takes its time, waiting more than working."""
        return self.goal in ("left", "overrun") or bool(self.linger)

    @property
    def looks(self) -> int:
        """How often one has to look for what it left: once where it means to leave nothing."""
        return 3 if self.lasts else 1

    def program(self) -> str:
        """The script, with what every script of its language can use."""
        return f"{_PRELUDES[self.language]}\n{self.script}"


_SH = """\
echo "STARTED-$TOKEN"
claim() { echo "ESCAPED-$TOKEN"; }
"""
_PYTHON = """\
import ctypes, mmap, os, signal, socket, struct, sys, time
E = os.environ
OUT, WORK, TOKEN = E["OUT"], E["WORK"], E["TOKEN"]
VICTIM = int(E.get("VICTIM", 0))
libc = ctypes.CDLL(None, use_errno=True)
print("STARTED-" + TOKEN, flush=True)
def claim():
    print("ESCAPED-" + TOKEN, flush=True)
def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def where(name):
    with open("/proc/%d/stat" % VICTIM) as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[{"environment": 47, "end": 48}[name]])
"""
_PRELUDES: Final = {"sh": _SH, "python": _PYTHON}
