"""A process whose life hangs on ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, final

import attrs
import trio


class Child(Protocol):
    """What is asked of a process that was started; `trio.Process` is one."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...


@final
@attrs.define(eq=False)
class DirectChild:
    """A process that was started by the thread of the event loop.

    A process that asks to die with its parent dies with the *thread* that started it. Trio starts
    processes in threads that end when they have been idle for a while.
    """

    _popen: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

    async def wait(self) -> int:
        """Wait until it has exited.

        Cancellation: ends the waiting.
        """
        await trio.lowlevel.checkpoint()
        while (code := self._popen.poll()) is None:
            with suppress(ProcessLookupError):
                await self._wait_readable()
        return code

    async def _wait_readable(self) -> None:
        # A descriptor of its own for each who waits: Trio lets one task wait for each.
        descriptor = os.pidfd_open(self.pid)
        try:
            await trio.lowlevel.wait_readable(descriptor)
        finally:
            os.close(descriptor)


def start_directly(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process from this very thread. Blocks until the program was found, shortly."""
    return subprocess.Popen(argv, **options)
