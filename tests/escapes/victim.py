"""A process outside, which must be as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, final

import attrs

from tests.escapes.ground import Scene, as_user

_Sight: TypeAlias = tuple[object, ...]


@final
@attrs.define(eq=False)
class Victim:
    """A process of the same user that has the canary and a terminal open, and a secret."""

    env: Mapping[str, str]
    _child: subprocess.Popen[bytes]
    _before: _Sight = ()

    @classmethod
    def make(cls, scene: Scene, terminal: str) -> Victim:
        script = f'exec 3>>canary 4>>"{terminal or "/dev/null"}"; exec sleep 1000'
        child = subprocess.Popen(
            as_user(("/bin/sh", "-c", script), scene.user),
            cwd=scene.outside,
            env={"CANARY": "untouched", "PATH": os.environ["PATH"], "WORD": scene.secret},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        victim = cls({"VICTIM": str(child.pid)}, child)
        victim._wait_until_it_sleeps()
        victim._before = victim._look()
        return victim

    def _wait_until_it_sleeps(self) -> None:
        until = time.monotonic() + 60
        while not (self._read("cmdline").startswith(b"sleep\0") and b") S " in self._read("stat")):
            assert time.monotonic() < until, "the process outside has not started"
            time.sleep(0.002)

    def was_taken(self) -> bool:
        return self._look() != self._before

    def _look(self) -> _Sight:
        if self._child.poll() is not None:
            return ("dead",)
        fields = self._read("stat").rpartition(b")")[2].split()
        stopped = fields[0] in (b"T", b"t", b"Z")
        return (
            stopped,
            self._read("environ"),
            self._read("limits"),
            os.getpriority(os.PRIO_PROCESS, self._child.pid),
            os.sched_getscheduler(self._child.pid),
        )

    def _read(self, name: str) -> bytes:
        try:
            return Path(f"/proc/{self._child.pid}/{name}").read_bytes()
        except OSError:
            return b""

    def close(self) -> None:
        self._child.send_signal(signal.SIGKILL)
        self._child.wait()
