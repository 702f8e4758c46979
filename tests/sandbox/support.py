"""Commands that can be recognised, and a way to see which of them are alive."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import final

import attrs
import trio

from codex_actors.sandbox import Process, Processes, ProcessSpec

FOREVER = 1000
"""Seconds; longer than any test."""


@final
@attrs.define(eq=False)
class Output:
    """A sink that keeps everything."""

    data: bytearray = attrs.field(factory=bytearray)

    def append(self, data: bytes, /) -> None:
        self.data.extend(data)

    def text(self) -> str:
        return self.data.decode()


@final
@attrs.define(eq=False)
class Counter:
    """A sink that keeps nothing."""

    total: int = 0

    def append(self, data: bytes, /) -> None:
        self.total += len(data)


@final
@attrs.frozen
class Workshop:
    """Makes commands that carry a token, by which they and what they start are found."""

    token: str = attrs.field(factory=lambda: f"token{uuid.uuid4().hex}")

    def command(self, *argv: str, tty: bool = False, cwd: str = "/") -> ProcessSpec:
        env = {"PATH": os.environ["PATH"], "TEST_TOKEN": self.token}
        return ProcessSpec(argv=argv, cwd=cwd, env=env, tty=tty)

    def shell(self, script: str, *, tty: bool = False) -> ProcessSpec:
        return self.command("/bin/sh", "-c", script, self.token, tty=tty)

    def python(self, script: str) -> ProcessSpec:
        return self.command(sys.executable, "-c", script, self.token)

    def alive(self) -> set[int]:
        """Processes with the token in their environment or arguments, zombies included."""
        token = self.token.encode()
        return {
            int(path.name)
            for path in Path("/proc").iterdir()
            if path.name.isdecimal()
            and token in _bytes(path / "environ") + _bytes(path / "cmdline")
        }

    async def wait_alive(self, count: int) -> set[int]:
        await wait_until(lambda: len(self.alive()) == count)
        return self.alive()

    async def wait_program(self, name: str) -> None:
        """Wait until one of the processes has become this program."""
        start = f"{name}\0".encode()
        await wait_until(
            lambda: any(
                _bytes(Path(f"/proc/{pid}/cmdline")).startswith(start) for pid in self.alive()
            )
        )


async def run(processes: Processes, spec: ProcessSpec) -> tuple[int, str]:
    output = Output()
    process = await processes.start(spec, output)
    return await process.wait(), output.text()


async def wait_until(holds: Callable[[], bool]) -> None:
    """Look until it holds: the kernel does not tell us."""
    with trio.fail_after(20):
        while not holds():
            await trio.sleep(0.005)


async def wait_text(process: Process, output: Output, text: str) -> None:
    with trio.fail_after(20):
        while text not in output.text():
            assert process.exit_code() is None, output.text()
            await process.wait_output(after=process.received())


def zombie_children() -> set[int]:
    return {pid for pid, state in _children() if state == "Z"}


def _children() -> list[tuple[int, str]]:
    found = []
    for path in Path("/proc").iterdir():
        fields = _bytes(path / "stat").rpartition(b")")[2].split() if path.name.isdecimal() else []
        if fields and int(fields[1]) == os.getpid():
            found.append((int(path.name), fields[0].decode()))
    return found


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def descriptors() -> dict[str, str]:
    """What this program has open."""
    links = {}
    for path in Path("/proc/self/fd").iterdir():
        try:
            links[path.name] = os.readlink(path)
        except FileNotFoundError:
            continue
    return links


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
