"""Telling a program of the user's that a turn has been completed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

import attrs
import trio

from ..protocol import Settings
from ..sandbox import CouldNotStart, ProcessSpec, open_processes

NOTIFY_SECONDS: Final = 10.0
"""How long the program may take."""
MOST_BYTES: Final = 100_000
"""Size of its argument; Linux takes 131,072 bytes (MAX_ARG_STRLEN), and macOS has room for more."""


@final
@attrs.frozen(kw_only=True)
class Notice:
    """What the program is told."""

    thread_id: str
    turn_id: str
    cwd: str
    prompts: tuple[str, ...]
    message: str | None
    """The agent's last one."""

    def argument(self) -> str:
        """Return the notice as JSON; texts are shortened if an argument could not hold them."""
        longest = MOST_BYTES
        while len((text := self._encode(longest)).encode()) > MOST_BYTES:
            longest //= 2
        return text

    def _encode(self, longest: int) -> str:
        fields: dict[str, Any] = {
            "type": "agent-turn-complete",
            "thread-id": self.thread_id,
            "turn-id": self.turn_id,
            "cwd": self.cwd,
            "input-messages": [_shorten(prompt, longest) for prompt in self.prompts],
            "last-assistant-message": None
            if self.message is None
            else _shorten(self.message, longest),
        }
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _shorten(text: str, longest: int) -> str:
    sound = text.encode("utf-8", "replace").decode()  # half a pair of surrogates is no argument
    return sound if len(sound) <= longest else f"{sound[:longest]}..."


async def notify(settings: Settings, notice: Notice, environ: Mapping[str, str]) -> str | None:
    """Start the program that the settings name, and wait for it; nothing if they name none.

    What it prints goes nowhere. When it has ended, or `NOTIFY_SECONDS` have passed, everything
    that it started is ended as well.

    Args:
        settings: Which program, and where it is started.
        notice: Its last argument.
        environ: Its environment.

    Returns:
        What went wrong, for people; None if nothing did.

    Cancellation: kills it, as `open_processes` does.
    """
    if not settings.notify:
        await trio.lowlevel.checkpoint()
        return None
    argv = (*settings.notify, notice.argument())
    spec = ProcessSpec(argv=argv, cwd=settings.cwd, env=environ)
    status: int | None = None
    try:
        async with open_processes() as processes:
            with trio.move_on_after(NOTIFY_SECONDS):
                process = await processes.start(spec, _Nowhere())
                status = await process.wait()
    except CouldNotStart as exc:
        return f"nobody was notified: {exc}"
    return _judge(settings.notify[0], status)


def _judge(program: str, status: int | None) -> str | None:
    if status == 0:
        return None
    if status is None:
        return f"the notify program {program!r} still ran after {NOTIFY_SECONDS:g} s; it was killed"
    ending = f"status {status}" if status > 0 else f"signal {-status}"
    return f"the notify program {program!r} ended with {ending}"


@final
class _Nowhere:
    def append(self, data: bytes, /) -> None:
        """Forget it."""
