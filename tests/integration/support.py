"""Running the real program against the package's scripted server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from codex_actors.models import ScriptedServer, parse_script, serve_scripted

ROOT = Path(__file__).parents[2]
FULL = ("-s", "danger-full-access", "--skip-git-repo-check")


@attrs.frozen(kw_only=True)
class Ended:
    """How the program ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]


@attrs.frozen(kw_only=True)
class Place:
    """A home and a working directory for the program."""

    home: Path
    work: Path

    @classmethod
    def below(cls, folder: Path, base_url: str = "http://127.0.0.1:9/v1") -> Place:
        place = cls(home=folder / "home", work=folder / "work")
        place.home.mkdir()
        place.work.mkdir()
        place.configure(base_url)
        return place

    def configure(self, base_url: str, more: str = "") -> None:
        config = f"""
model = "mock-model"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{base_url}"
stream_max_retries = 1
request_max_retries = 1
{more}
"""
        (self.home / "config.toml").write_text(config, "utf-8")

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.endswith("API_KEY")}
        environment |= {"CODEX_ACTORS_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.work,
            "env": environment | more.pop("env", {}),
        } | more
        program = options.pop("program", [sys.executable, "-m", "codex_actors"])
        return subprocess.Popen([*program, *arguments], **options)

    async def run(self, *arguments: str, **more: Any) -> Ended:
        """Run the program to its end, within a minute."""
        process = self.start(*arguments, **more)
        return await finish(process)

    def rollouts(self) -> list[Path]:
        return sorted(self.home.rglob("rollout-*.jsonl"))

    def lines(self) -> list[dict[str, Any]]:
        [path] = self.rollouts()
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def finish(process: subprocess.Popen[bytes]) -> Ended:
    with trio.fail_after(60):
        out, err = await trio.to_thread.run_sync(process.communicate, abandon_on_cancel=True)
    return Ended(
        status=process.returncode,
        stdout=(out or b"").decode("utf-8", "replace"),
        stderr=(err or b"").decode("utf-8", "replace"),
    )


@asynccontextmanager
async def open_server(steps: Sequence[Any]) -> AsyncGenerator[ScriptedServer, None]:
    script = parse_script(json.dumps({"steps": steps}).encode())
    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_scripted, script)
        yield server
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def serve_bytes(answer: bytes) -> AsyncGenerator[str, None]:
    """Serve one and the same answer to every request, then close the connection."""

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive_some()
            await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, handle, 0)
        port = listeners[0].socket.getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"
        nursery.cancel_scope.cancel()


async def poll(condition: Any) -> None:
    """Wait for something outside of Trio to become true."""
    with trio.fail_after(30):
        while not condition():
            await trio.sleep(0.02)


def processes_with(marker: str) -> list[int]:
    """Pids of all processes whose command line contains ``marker``."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def processes_of(home: Path) -> list[int]:
    """Pids of all living processes that were started with a home directory, or for it."""
    setting = f"CODEX_ACTORS_HOME={home}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            # What has ended, and was not waited for, has no environment any more.
            if setting in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


INTERRUPT, TERMINATE, HANG_UP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
