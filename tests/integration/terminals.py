"""Terminals that tests read, and terminals that people use."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import attrs
import trio

TERMINAL = {"TERM": "xterm-256color", "COLORTERM": ""}


@attrs.define(eq=False)
class Reader:
    """Reads what is written to a terminal, until nobody has it open any more."""

    master: int
    told: str = ""

    async def read(self) -> None:
        while piece := await trio.to_thread.run_sync(self._read):
            self.told += piece.decode("utf-8", "replace")

    def _read(self) -> bytes:
        try:
            return os.read(self.master, 1 << 16)
        except OSError:
            return b""


@attrs.define(eq=False)
class Tmux:
    """A tmux server of our own, with one window."""

    socket: str

    def tell(self, *words: str) -> str:
        command = ["tmux", "-S", self.socket, "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def open(self, command: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        setting = [f"{name}={value}" for name, value in env.items()]
        line = shlex.join(["env", "-u", "NO_COLOR", *setting, *command])
        script = f'{line}; echo "ended with $?"; exec sleep 1000'
        self.tell("new-session", "-d", "-x", "100", "-y", "30", "-c", str(cwd), script)

    def screen(self) -> str:
        return self.tell("capture-pane", "-p")

    def log(self) -> str:
        """What is on the screen and above it, with wrapped lines joined."""
        told = self.tell("capture-pane", "-p", "-J", "-S", "-")
        return "\n".join(line.rstrip() for line in told.split("\n"))

    def state(self) -> tuple[str, ...]:
        """Whether the cursor is shown, and whether lines wrap."""
        return tuple(self.tell("display", "-p", "#{cursor_flag} #{wrap_flag}").split())
